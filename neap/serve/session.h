// SPDX-License-Identifier: Apache-2.0
//
// One connection of the server, by Boost.Beast. Nothing waits for it: every operation ends in a
// call of the thread of Shared::io. Private to neap/serve; of http.cc alone.
#pragma once

#include <unistd.h>
#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "neap/serve/metrics.h"
#include "neap/serve/request.h"
#include "neap/serve/serve.h"
#include "neap/serve/service.h"

namespace neap::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Tcp = asio::ip::tcp;
using Error = boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxHeader = std::size_t{16} << 10U;
constexpr std::chrono::seconds kIdle{30};        // between requests
constexpr std::chrono::seconds kUploadIdle{15};  // without a byte of an upload
constexpr std::chrono::seconds kUploadGrace{2};  // before a slow upload gives way to another
constexpr std::chrono::seconds kHeartbeat{5};    // of a stream of events
constexpr std::chrono::seconds kLinger{3};
constexpr std::int64_t kMinUploadRate = 1024;  // bytes for each second, after kUploadIdle

// Counts down at its end.
class Slot {
 public:
  explicit Slot(std::int64_t* used) : used_(used) { ++*used_; }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() { --*used_; }

 private:
  std::int64_t* used_;
};

class Session;

// Members are used by the thread of `io` alone.
struct Shared {
  explicit Shared(const Settings& given) : settings(given) {}
  const Settings& settings;
  Access access;
  Service* service = nullptr;
  std::int64_t connections = 0;
  std::int64_t uploads = 0;
  std::int64_t streams = 0;
  bool draining = false;
  std::set<Session*> sessions;
  std::multimap<std::string, Session*> watchers;  // of plans, by streams of events
  // The last ones: their ends are the ends of sessions.
  asio::io_context io{1};
  asio::thread_pool pool{4};
};

inline std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

inline const char* RouteName(const Call& call) {
  switch (call.action) {
    case Action::kHealth:
      return "healthz";
    case Action::kMetrics:
      return "metrics";
    case Action::kDescription:
      return "openapi";
    case Action::kPage:
      return "page";
    case Action::kPreflight:
      return "preflight";
    case Action::kCreate:
      return "create";
    case Action::kList:
      return "list";
    case Action::kStatus:
      return "status";
    case Action::kFile:
      return "file";
    case Action::kEvents:
      return "events";
    case Action::kDelete:
      break;
  }
  return "delete";
}

// One connection. It lives as long as an operation that refers to it.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Tcp::socket socket, Shared* shared)
      : shared_(*shared),
        connection_(&shared->connections),
        stream_(std::move(socket)),
        timer_(shared->io) {
    shared_.sessions.insert(this);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    shared_.sessions.erase(this);
    Unwatch();
    RemoveUpload();
  }

  void Start() {
    if (shared_.connections > shared_.settings.connections) {
      keep_alive_ = false;
      return Send(ReplyOf({503, "too many connections"}));
    }
    ReadHeader();
  }

  // The server ends: idle connections and streams close.
  void Drain() {
    if (idle_ || watching_) Close();
  }

  // The plan that is watched has changed.
  void Wake() {
    changed_ = true;
    if (waits_) timer_.cancel();
  }

 private:
  using Header = http::request<http::empty_body>;

  void ReadHeader() {
    parser_.emplace();
    parser_->header_limit(kMaxHeader);
    parser_->body_limit(static_cast<std::uint64_t>(shared_.settings.model_bytes));
    idle_ = true;
    call_ = {};
    caller_ = {};
    route_ = "none";
    // The first byte may take longer than the header behind it.
    const std::chrono::seconds header(shared_.settings.header_seconds);
    stream_.expires_after(served_ == 0 ? header : std::max(header, kIdle));
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](Error error, std::size_t) { self->OnHeader(error); });
  }

  void OnHeader(Error error) {
    idle_ = false;
    start_ = Clock::now();
    if (error == http::error::end_of_stream || error == beast::error::timeout ||
        error == asio::error::operation_aborted || error == asio::error::connection_reset) {
      return Close();
    }
    keep_alive_ = false;
    if (error == http::error::body_limit) return Send(ReplyOf({413, "the model is too large"}));
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return Send(ReplyOf({431, "the header is too large"}));
    }
    if (error) return Send(ReplyOf({400, "the request is malformed"}));
    Dispatch();
  }

  void Dispatch() {
    const Header& header = parser_->get();
    const bool has_body = parser_->chunked() || parser_->content_length().value_or(0) > 0;
    auto call = Route(View(header.method_string()), View(header.target()));
    if (!call) return Send(ReplyOf(call.error()));
    call_ = *std::move(call);
    route_ = RouteName(call_);
    RawRequest raw;
    raw.method = View(header.method_string());
    raw.target = View(header.target());
    raw.host = Field(header, http::field::host);
    raw.hosts = static_cast<std::int64_t>(header.count(http::field::host));
    raw.origin = Field(header, http::field::origin);
    raw.authorization = Field(header, http::field::authorization);
    auto caller = Admit(raw, call_, shared_.access);
    if (!caller) return Send(ReplyOf(caller.error()));
    caller_ = *std::move(caller);
    const bool may_stay = header.keep_alive() && !shared_.draining;
    if (call_.action == Action::kCreate) {
      if (!has_body) return CreateOfKept(may_stay);
      // Only after the body: what is left of it on the connection is no request.
      keep_after_upload_ = may_stay;
      return AdmitUpload();
    }
    if (has_body) return Send(ReplyOf({400, "the request has a body"}));
    keep_alive_ = may_stay;
    if (call_.action == Action::kEvents) return AdmitStream();
    Serve([this] { return shared_.service->Handle(call_, caller_); });
  }

  // A plan of a stored model.
  void CreateOfKept(bool may_stay) {
    const auto request = ParsePlanRequest(call_);
    if (!request) return Send(ReplyOf(request.error()));
    if (request->model.empty()) return Send(ReplyOf({400, "the request has no model"}));
    keep_alive_ = may_stay;
    Serve([this] { return shared_.service->FinishUpload(call_, caller_, ""); });
  }

  static std::optional<std::string_view> Field(const Header& header, http::field name) {
    const auto found = header.find(name);
    if (found == header.end()) return std::nullopt;
    return View(found->value());
  }

  // Calls `work`, which may wait, by another thread, and sends its reply.
  template <typename WorkFunction>
  void Serve(WorkFunction work) {
    stream_.expires_never();
    asio::post(shared_.pool, [self = shared_from_this(), work = std::move(work)]() mutable {
      auto reply = std::make_shared<Reply>(work());
      // Moved: the last reference must go by the thread of `io`.
      asio::io_context& io = self->shared_.io;
      asio::post(io, [self = std::move(self), reply] { self->Send(std::move(*reply)); });
    });
  }

  // Uploads.

  void AdmitUpload() {
    if (shared_.uploads >= shared_.settings.uploads && !EndSlowUpload()) {
      return Send(ReplyOf({503, "too many uploads"}));
    }
    upload_slot_ = std::make_unique<Slot>(&shared_.uploads);
    stream_.expires_never();
    asio::post(shared_.pool, [self = shared_from_this()]() mutable {
      auto path = std::make_shared<tl::expected<std::string, Refusal>>(
          self->shared_.service->BeginUpload(self->call_));
      asio::io_context& io = self->shared_.io;
      asio::post(io, [self = std::move(self), path] {
        if (!*path) return self->Send(ReplyOf(path->error()));
        self->BeginUpload(**path);
      });
    });
  }

  // One that is slower than it may be, so that slow clients do not keep others from uploading.
  bool EndSlowUpload() {
    for (Session* const other : shared_.sessions) {
      const bool uploads = other->upload_slot_ != nullptr && other->upload_;
      if (!uploads || Clock::now() - other->start_ < kUploadGrace || !other->IsSlow()) continue;
      shared_.service->metrics().Add("neap_uploads_slow_total", 1);
      // Its file goes with the session, once the operation that writes it has ended.
      other->upload_slot_.reset();
      other->Close();
      return true;
    }
    return false;
  }

  bool IsSlow() const {
    const std::chrono::duration<double> seconds = Clock::now() - start_;
    return static_cast<double>(uploaded_) < seconds.count() * static_cast<double>(kMinUploadRate);
  }

  void BeginUpload(const std::string& path) {
    upload_path_ = path;
    const bool expects = parser_->get().count(http::field::expect) > 0;
    upload_.emplace(std::move(*parser_));
    upload_->eager(true);
    Error error;
    upload_->get().body().open(path.c_str(), beast::file_mode::write_new, error);
    if (error) return Send(ReplyOf({500, "the upload cannot be stored"}));
    if (!expects) return ReadUpload();
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    stream_.expires_after(kUploadIdle);
    asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()),
                      [self = shared_from_this()](Error failed, std::size_t) {
                        if (failed) return self->Close();
                        self->ReadUpload();
                      });
  }

  void ReadUpload() {
    stream_.expires_after(kUploadIdle);
    http::async_read_some(stream_, buffer_, *upload_,
                          [self = shared_from_this()](Error error, std::size_t bytes) {
                            self->OnUpload(error, bytes);
                          });
  }

  void OnUpload(Error error, std::size_t bytes) {
    uploaded_ += static_cast<std::int64_t>(bytes);
    if (error && error != http::error::need_more) {
      shared_.service->metrics().Add("neap_uploads_broken_total", 1);
      if (error == http::error::body_limit) return Send(ReplyOf({413, "the model is too large"}));
      if (error == beast::error::timeout) return Close();
      const bool is_gone = error == http::error::partial_message ||
                           error.category() == boost::system::system_category();
      return is_gone ? Close() : Send(ReplyOf({400, "the upload is malformed"}));
    }
    if (upload_->is_done()) {
      upload_->get().body().close();
      keep_alive_ = keep_after_upload_;
      upload_slot_.reset();
      return Serve([this] {
        Reply reply = shared_.service->FinishUpload(call_, caller_, upload_path_);
        return reply;
      });
    }
    const auto passed = Clock::now() - start_;
    if ((passed > kUploadIdle && IsSlow()) ||
        passed > std::chrono::seconds(shared_.settings.upload_seconds)) {
      shared_.service->metrics().Add("neap_uploads_slow_total", 1);
      return Send(ReplyOf({408, "the upload is too slow"}));
    }
    ReadUpload();
  }

  void RemoveUpload() {
    // After a success, the file has another name.
    if (!upload_path_.empty()) ::unlink(upload_path_.c_str());
    upload_path_.clear();
    upload_slot_.reset();
    uploaded_ = 0;
    upload_.reset();
  }

  // Streams of events.

  void AdmitStream() {
    if (shared_.streams >= shared_.settings.streams) {
      return Send(ReplyOf({503, "too many streams of events"}));
    }
    stream_slot_ = std::make_unique<Slot>(&shared_.streams);
    keep_alive_ = false;
    watching_ = true;
    shared_.watchers.emplace(call_.plan, this);
    NextEvent();
  }

  void NextEvent() {
    changed_ = false;
    stream_.expires_never();
    asio::post(shared_.pool, [self = shared_from_this()]() mutable {
      auto event = std::make_shared<tl::expected<Service::Event, Refusal>>(
          self->shared_.service->EventOf(self->call_.plan, self->caller_));
      asio::io_context& io = self->shared_.io;
      asio::post(io, [self = std::move(self), event] { self->OnEvent(*event); });
    });
  }

  void OnEvent(const tl::expected<Service::Event, Refusal>& event) {
    if (!event && !has_begun_) {
      watching_ = false;
      Unwatch();
      return Send(ReplyOf(event.error()));
    }
    std::string text;
    if (!has_begun_) {
      text =
          "HTTP/1.1 200 OK\r\nServer: neap\r\nContent-Type: text/event-stream\r\n"
          "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
      if (!caller_.allowed_origin.empty()) {
        text += "Access-Control-Allow-Origin: " + caller_.allowed_origin + "\r\nVary: Origin\r\n";
      }
      text += "Connection: close\r\n\r\n";
      has_begun_ = true;
      Account(200);
    }
    bool last = !event;
    if (!event) {
      text += "event: deleted\ndata: {}\n\n";
    } else {
      if (event->text != last_event_) {
        text += "event: " + event->state + "\ndata: " + event->text + "\n\n";
      }
      last_event_ = event->text;
      last = event->last;
    }
    if (text.empty()) return WaitForChange();
    WriteEvent(std::move(text), last);
  }

  void WriteEvent(std::string text, bool last) {
    output_ = std::move(text);
    stream_.expires_after(kUploadIdle);
    asio::async_write(stream_, asio::buffer(output_),
                      [self = shared_from_this(), last](Error error, std::size_t) {
                        if (error || last) return self->Close();
                        self->WaitForChange();
                      });
  }

  void WaitForChange() {
    if (shared_.draining) return Close();
    if (changed_) return NextEvent();
    waits_ = true;
    stream_.expires_never();
    timer_.expires_after(kHeartbeat);
    timer_.async_wait([self = shared_from_this()](Error error) {
      self->waits_ = false;
      if (self->closed_) return;
      if (error || self->changed_) return self->NextEvent();
      self->WriteEvent(": waiting\n\n", false);
    });
  }

  void Unwatch() {
    const auto [first, last] = shared_.watchers.equal_range(call_.plan);
    for (auto at = first; at != last;) {
      at = at->second == this ? shared_.watchers.erase(at) : std::next(at);
    }
    stream_slot_.reset();
  }

  // Replies.

  template <typename Body>
  void AddFields(const Reply& reply, http::response<Body>* response) const {
    response->version(11);
    response->result(static_cast<unsigned>(reply.status));
    response->set(http::field::server, "neap");
    response->set("X-Content-Type-Options", "nosniff");
    response->set("Referrer-Policy", "no-referrer");
    response->set(http::field::cache_control, "no-store");
    if (reply.status != 204) response->set(http::field::content_type, reply.type);
    for (const auto& [name, value] : reply.headers) response->set(name, value);
    if (!caller_.allowed_origin.empty()) {
      response->set(http::field::access_control_allow_origin, caller_.allowed_origin);
      response->set(http::field::vary, "Origin");
    }
    response->keep_alive(keep_alive_);
  }

  void Send(Reply reply) {
    RemoveUpload();
    if (shared_.draining) keep_alive_ = false;
    if (!reply.file.empty()) return SendFile(reply);
    Account(reply.status);
    auto response = std::make_shared<http::response<http::string_body>>();
    AddFields(reply, response.get());
    const std::size_t size = reply.body.size();
    if (!call_.head) response->body() = std::move(reply.body);
    if (reply.status != 204) response->content_length(size);
    stream_.expires_after(kIdle);
    http::async_write(
        stream_, *response,
        [self = shared_from_this(), response](Error error, std::size_t) { self->OnSent(error); });
  }

  void SendFile(const Reply& reply) {
    Error error;
    auto response = std::make_shared<http::response<http::file_body>>();
    response->body().open(reply.file.c_str(), beast::file_mode::scan, error);
    if (error) return Send(ReplyOf({404, "the file was removed"}));
    Account(reply.status);
    const std::uint64_t size = response->body().size();
    AddFields(reply, response.get());
    if (call_.head) {
      auto head = std::make_shared<http::response<http::empty_body>>();
      AddFields(reply, head.get());
      head->content_length(size);
      stream_.expires_after(kIdle);
      return http::async_write(
          stream_, *head,
          [self = shared_from_this(), head](Error failed, std::size_t) { self->OnSent(failed); });
    }
    response->content_length(size);
    stream_.expires_after(std::chrono::seconds(shared_.settings.upload_seconds));
    http::async_write(
        stream_, *response,
        [self = shared_from_this(), response](Error failed, std::size_t) { self->OnSent(failed); });
  }

  void Account(int status) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    shared_.service->metrics().CountRequest(route_, status, seconds);
    Log("request", {{"route", route_},
                    {"plan", call_.plan},
                    {"status", std::to_string(status)},
                    {"seconds", std::to_string(seconds)}});
  }

  void OnSent(Error error) {
    ++served_;
    if (error) return Close();
    if (keep_alive_) return ReadHeader();
    // What the client still sends is read for a short while: a reset would drop the answer.
    stream_.socket().shutdown(Tcp::socket::shutdown_send, error);
    linger_end_ = Clock::now() + kLinger;
    Linger();
  }

  void Linger() {
    stream_.expires_at(linger_end_);
    stream_.async_read_some(asio::buffer(scrap_),
                            [self = shared_from_this()](Error error, std::size_t) {
                              if (error) return self->Close();
                              self->Linger();
                            });
  }

  void Close() {
    if (closed_) return;
    closed_ = true;
    watching_ = false;
    timer_.cancel();
    stream_.close();
  }

  Shared& shared_;
  Slot connection_;
  beast::tcp_stream stream_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_{std::size_t{128} << 10U};
  std::optional<http::request_parser<http::empty_body>> parser_;
  Call call_;
  Caller caller_;
  const char* route_ = "none";
  Clock::time_point start_;
  Clock::time_point linger_end_;
  std::array<char, 4096> scrap_ = {};
  std::int64_t served_ = 0;
  bool idle_ = false;
  bool keep_alive_ = false;
  bool closed_ = false;

  std::optional<http::request_parser<http::file_body>> upload_;
  std::unique_ptr<Slot> upload_slot_;
  std::string upload_path_;
  std::int64_t uploaded_ = 0;
  bool keep_after_upload_ = false;

  std::unique_ptr<Slot> stream_slot_;
  std::string output_;
  std::string last_event_;
  bool watching_ = false;
  bool has_begun_ = false;
  bool waits_ = false;
  bool changed_ = false;
};

}  // namespace neap::serve
