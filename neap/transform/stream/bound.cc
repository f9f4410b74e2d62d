// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/bound.h"

#include <algorithm>
#include <map>
#include <utility>

#include "neap/transform/stream/bound_chain.h"
#include "neap/transform/stream/bound_moments.h"
#include "neap/transform/stream/bound_rows.h"

namespace neap::stream {

using plan::StreamInput;

class BoundsOfNetwork {
 public:
  BoundsOfNetwork(const Network& network, StreamInput input) : network_(network), input_(input) {
    FindWays();
    for (std::size_t i = 0; i < network_.images.size(); ++i) {
      whole_bound_ = std::max(whole_bound_, OfEnd(static_cast<int>(i)));
    }
    whole_bound_ = std::max(whole_bound_, OfGates());
    FindChains();
  }

  std::int64_t For(const std::vector<std::int64_t>& heights) {
    std::int64_t bound = whole_bound_;
    for (KnownChain& chain : chains_) {
      std::vector<std::int64_t> own;
      for (std::size_t l = 0; l < chain.images.size(); ++l) {
        const auto image = static_cast<std::size_t>(chain.images[l]);
        own.push_back(
            std::clamp<std::int64_t>(heights[image], 1, network_.images[image].shape.height));
        chain.links[l].block_rows = own.back();
      }
      // Higher blocks only make it smaller.
      if (MostOf(&chain) <= bound) continue;
      const auto [at, is_new] = chain.bounds.try_emplace(std::move(own));
      if (is_new) at->second = BoundOfChain(chain.links);
      bound = std::max(bound, at->second);
    }
    return bound;
  }

  std::int64_t ByMoments(const std::vector<std::int64_t>& heights, std::int64_t enough) {
    BoundMoment found;
    const std::int64_t bound =
        BoundOfMoments(network_, input_, heights, For(heights), enough, &found);
    return BoundOfRows(network_, input_, heights, bound, enough, found);
  }

 private:
  // Inputs are whole at the start, outputs at the end, and an operator that does not stream has one
  // of its inputs whole before and its output whole behind.
  std::int64_t OfEnd(int image) const {
    const Image& value = network_.image(image);
    // Never in the arena, though it may be an output, too.
    if (value.is_input && input_ == StreamInput::kExternal) return 0;
    if (value.is_output) return value.shape.bytes();
    if (value.is_input) {
      return input_ == StreamInput::kResident && value.last_use >= 0 ? value.shape.bytes() : 0;
    }
    const bool whole = std::any_of(value.readers.begin(), value.readers.end(),
                                   [&](int n) { return !network_.node(n).streams; });
    return whole || (value.producer >= 0 && !network_.node(value.producer).streams)
               ? value.shape.bytes()
               : 0;
  }

  // Each output row of a reader needs some rows of the image, so many more for each further one.
  static bool IsRows(const Node& node, const Read& read, const Image& image) {
    return node.streams && !read.rows.listed && !read.columns.listed && read.rows.scale > 0 &&
           read.rows.scale < image.shape.height;
  }

  bool EndsChain(int image) const {
    const Image& value = network_.image(image);
    if (value.is_output || value.readers.empty()) return value.producer >= 0;
    return std::any_of(value.readers.begin(), value.readers.end(), [&](int n) {
      const Node& node = network_.node(n);
      return std::any_of(node.reads.begin(), node.reads.end(), [&](const Read& read) {
        return read.image == image && !IsRows(node, read, value);
      });
    });
  }

  // Columns of `from` that `reader` reads at all, which computes `to`.
  static std::int64_t ColumnsRead(const Read& reader, const Image& to, const Image& from) {
    std::int64_t columns = 0;
    std::int64_t done = 0;
    for (std::int64_t x = 0; x < to.shape.width; ++x) {
      const plan::StreamRange need = reader.columns.Need(x, x + 1, from.shape.width);
      if (need.empty()) continue;
      columns += std::max<std::int64_t>(0, need.last - std::max(done, need.first));
      done = std::max(done, need.last);
    }
    return columns;
  }

  // For every image the most bytes of rows that windows keep on a way to it.
  void FindWays() {
    ways_.assign(network_.images.size(), {});
    for (const Node& node : network_.nodes) {
      if (!node.streams) continue;
      Way& way = ways_[static_cast<std::size_t>(node.outputs[0])];
      for (const Read& read : node.reads) {
        const Image& from = network_.image(read.image);
        if (!IsRows(node, read, from)) continue;
        const std::int64_t rows = std::max<std::int64_t>(read.rows.extent - read.rows.scale, 0);
        const std::int64_t bytes = ways_[static_cast<std::size_t>(read.image)].kept_bytes +
                                   rows * from.shape.width * from.shape.pixel_bytes + 1;
        if (bytes > way.kept_bytes) way = {bytes, &read};
      }
    }
  }

  struct KnownChain {
    std::vector<int> images;
    std::vector<Link> links;
    std::map<std::vector<std::int64_t>, std::int64_t> bounds;  // by the heights of blocks
  };

  // The bound of the chain in blocks of one row.
  static std::int64_t MostOf(KnownChain* chain) {
    const std::vector<std::int64_t> ones(chain->links.size(), 1);
    const auto [at, is_new] = chain->bounds.try_emplace(ones);
    if (is_new) {
      std::vector<Link> links = chain->links;
      for (Link& link : links) link.block_rows = 1;
      at->second = BoundOfChain(std::move(links));
    }
    return at->second;
  }

  // Chains end where no rows lead on: at outputs and at operators that need all of their input. One
  // that begins another adds nothing to it, but where its end is an output, which stays.
  void FindChains() {
    std::vector<char> inside(network_.images.size(), 0);
    for (std::size_t i = network_.images.size(); i-- > 0;) {
      if (inside[i] != 0 && !network_.images[i].is_output) continue;
      if (!network_.images[i].tensor.valid()) continue;
      if (!EndsChain(static_cast<int>(i))) continue;
      chains_.push_back(ChainTo(static_cast<int>(i)));
      for (const int image : chains_.back().images) inside[static_cast<std::size_t>(image)] = 1;
    }
  }

  // The chain that ends with `image`, on the way that keeps most.
  KnownChain ChainTo(int image) const {
    KnownChain chain;
    const Read* reader = nullptr;  // of the next one
    const Image* next = nullptr;
    // An operator that accumulates its input as it arrives stores none of it.
    const bool kept = network_.image(image).is_output;
    for (int at = image;;) {
      const Image& value = network_.image(at);
      Link link;
      link.rows = value.shape.height * kProgressUnit;
      link.row_bytes = at == image && !kept ? 0 : value.shape.width * value.shape.pixel_bytes;
      link.rows_read = link.rows;
      if (reader != nullptr) {
        link.map = reader->rows;
        link.row_bytes = ColumnsRead(*reader, *next, value) * value.shape.pixel_bytes;
        link.rows_read =
            reader->rows.Need(0, next->shape.height, value.shape.height).last * kProgressUnit;
      }
      link.external = value.is_input && input_ == StreamInput::kExternal;
      link.resident = value.is_input && input_ == StreamInput::kResident;
      chain.links.push_back(link);
      chain.images.push_back(at);
      if (value.producer < 0) break;
      const Read* const best = ways_[static_cast<std::size_t>(at)].last;
      if (best == nullptr) break;
      reader = best;
      next = &value;
      at = best->image;
    }
    std::reverse(chain.links.begin(), chain.links.end());
    std::reverse(chain.images.begin(), chain.images.end());
    return chain;
  }

  // x times a gate that needs all of x: when the gate exists, x is whole and none of it can be
  // freed; the same applies to inputs of x that are needed after the gate.
  std::int64_t OfGates() const {
    const std::size_t count = network_.nodes.size();
    constexpr std::size_t kMaxNodes = 4000;
    if (count > kMaxNodes) return 0;
    std::int64_t bound = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const Node& node = network_.nodes[n];
      const auto gate = std::find_if(node.reads.begin(), node.reads.end(),
                                     [](const Read& read) { return read.rows.scale == 0; });
      if (!node.streams || gate == node.reads.end()) continue;
      const std::vector<bool> before = MadeFrom(gate->image);
      const std::vector<bool> after = MadeBy(static_cast<int>(n));
      std::int64_t bytes = 0;
      bool gated = false;
      for (std::size_t i = 0; i < network_.images.size(); ++i) {
        const Image& image = network_.images[i];
        const bool outside = image.is_input && input_ != StreamInput::kResident;
        if (!before[i] || outside || static_cast<int>(i) == gate->image) continue;
        const bool later = std::any_of(image.readers.begin(), image.readers.end(), [&](int reader) {
          return after[static_cast<std::size_t>(reader)];
        });
        if (!later) continue;
        gated = true;
        bytes += image.shape.bytes();
      }
      if (gated) bound = std::max(bound, bytes);
    }
    return bound;
  }

  // Images all of whose rows have been computed when `image` is: those that it is made from, up to
  // the rows that windows leave out.
  std::vector<bool> MadeFrom(int image) const {
    std::vector<bool> made(network_.images.size(), false);
    made[static_cast<std::size_t>(image)] = true;
    for (int n = network_.image(image).producer; n >= 0; --n) {
      const Node& node = network_.node(n);
      const bool used = std::any_of(node.outputs.begin(), node.outputs.end(), [&](int output) {
        return made[static_cast<std::size_t>(output)];
      });
      for (const Read& read : node.reads) {
        if (used) made[static_cast<std::size_t>(read.image)] = true;
      }
    }
    return made;
  }

  // Node `n` and all that depend on it.
  std::vector<bool> MadeBy(int n) const {
    std::vector<bool> made(network_.nodes.size(), false);
    made[static_cast<std::size_t>(n)] = true;
    for (std::size_t at = static_cast<std::size_t>(n) + 1; at < network_.nodes.size(); ++at) {
      for (const Read& read : network_.nodes[at].reads) {
        const int producer = network_.image(read.image).producer;
        if (producer >= 0 && made[static_cast<std::size_t>(producer)]) made[at] = true;
      }
    }
    return made;
  }

  struct Way {
    std::int64_t kept_bytes = 0;
    const Read* last = nullptr;  // of the image's operator; nullptr: the way begins here
  };

  const Network& network_;
  StreamInput input_;
  std::vector<Way> ways_;         // to each image
  std::int64_t whole_bound_ = 0;  // of the parts that do not depend on the heights of blocks
  std::vector<KnownChain> chains_;
};

Bounds::Bounds(const Network& network, StreamInput input)
    : of_(std::make_unique<BoundsOfNetwork>(network, input)) {}
Bounds::~Bounds() = default;

std::int64_t Bounds::For(const std::vector<std::int64_t>& heights) { return of_->For(heights); }

std::int64_t Bounds::ByMoments(const std::vector<std::int64_t>& heights, std::int64_t enough) {
  return of_->ByMoments(heights, enough);
}

}  // namespace neap::stream
