// SPDX-License-Identifier: Apache-2.0
//
// HTTP, by Boost.Beast: one thread for all connections, none of which it waits for, and a few for
// calls that wait for the disk.
#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "neap/io/file.h"
#include "neap/serve/metrics.h"
#include "neap/serve/request.h"
#include "neap/serve/serve.h"
#include "neap/serve/service.h"
#include "neap/serve/session.h"

namespace neap::serve {
namespace {

class Server {
 public:
  explicit Server(const Settings& settings)
      : shared_(settings), acceptor_(shared_.io), retry_(shared_.io), signals_(shared_.io) {}

  Status Run() {
    const Settings& settings = shared_.settings;
    NEAP_CHECK_OK(Prepare());
    NEAP_TRY(const auto service, Service::Open(settings));
    shared_.service = service.get();
    NEAP_CHECK_OK(Listen());
    service->OnChange([this](const std::string& plan) {
      asio::post(shared_.io, [this, plan] {
        const auto [first, last] = shared_.watchers.equal_range(plan);
        for (auto at = first; at != last; ++at) at->second->Wake();
      });
    });
    signals_.add(SIGTERM);
    signals_.add(SIGINT);
    signals_.async_wait([this](Error error, int) {
      if (!error) Drain();
    });
    service->Start();
    const Tcp::endpoint local = acceptor_.local_endpoint();
    const Confinement kernel = ConfinementOfKernel();
    Log("listening", {{"address", local.address().to_string()},
                      {"port", std::to_string(local.port())},
                      {"landlock", kernel.landlock ? "yes" : "no"},
                      {"seccomp", kernel.seccomp ? "yes" : "no"}});
    if (settings.on_listening) settings.on_listening(local.address().to_string(), local.port());
    Accept();
    // Until Finish() stops it, also where no connection is left.
    const auto work = asio::make_work_guard(shared_.io);
    shared_.io.run();
    shared_.pool.join();
    // Handlers that the pool has posted: their sessions end in this thread.
    shared_.io.restart();
    shared_.io.poll();
    Log("ended", {});
    return {};
  }

 private:
  Status Prepare() {
    const Settings& settings = shared_.settings;
    Error error;
    address_ = asio::ip::make_address(settings.address, error);
    if (error) return Fail(UsageError("'" + settings.address + "' is not an IP address"));
    if (!settings.token_file.empty()) {
      NEAP_TRY(const auto bytes, io::ReadFile(settings.token_file));
      auto tokens = ParseTokens({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
      if (!tokens) {
        tokens.error().file = settings.token_file;
        return Fail(std::move(tokens).error());
      }
      shared_.access.tokens = *std::move(tokens);
    } else if (!address_.is_loopback()) {
      return Fail(UsageError("an address other than loopback needs a file of tokens"));
    }
    shared_.access.hosts = {"localhost", "127.0.0.1", "::1"};
    if (!address_.is_unspecified()) shared_.access.hosts.push_back(address_.to_string());
    for (const std::string& host : settings.hosts) shared_.access.hosts.push_back(host);
    shared_.access.origins = settings.origins;
    return {};
  }

  Status Listen() {
    const Tcp::endpoint endpoint(address_, shared_.settings.port);
    Error error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return Fail(IoError("cannot listen at " + shared_.settings.address + ", port " +
                          std::to_string(shared_.settings.port) + ": " + error.message()));
    }
    return {};
  }

  void Accept() {
    acceptor_.async_accept([this](Error error, Tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (error) {
        // Out of descriptors, most likely: others will close.
        retry_.expires_after(std::chrono::milliseconds(50));
        retry_.async_wait([this](Error stopped) {
          if (!stopped) Accept();
        });
        return;
      }
      std::make_shared<Session>(std::move(socket), &shared_)->Start();
      Accept();
    });
  }

  void Drain() {
    Log("draining", {});
    Error error;
    acceptor_.close(error);
    retry_.cancel();
    shared_.draining = true;
    const std::set<Session*> sessions = shared_.sessions;
    for (Session* const session : sessions) session->Drain();
    stopper_ = std::thread([this] {
      shared_.service->Stop();
      asio::post(shared_.io, [this] { Finish(); });
    });
  }

  // Answers that are being written get a short while.
  void Finish() {
    stopper_.join();
    retry_.expires_after(kLinger);
    retry_.async_wait([this](Error) { shared_.io.stop(); });
    Poll();
  }
  void Poll() {
    if (shared_.sessions.empty()) return shared_.io.stop();
    auto timer = std::make_shared<asio::steady_timer>(shared_.io, std::chrono::milliseconds(20));
    timer->async_wait([this, timer](Error) { Poll(); });
  }

  Shared shared_;
  asio::ip::address address_;
  Tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  asio::signal_set signals_;
  std::thread stopper_;
};

}  // namespace

bool IsAvailable() { return true; }

Status Serve(const Settings& settings) {
  std::signal(SIGPIPE, SIG_IGN);
  return Server(settings).Run();
}

}  // namespace neap::serve
