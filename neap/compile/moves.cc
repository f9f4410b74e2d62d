// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/moves.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/base/work.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"

namespace neap::compile {
namespace {

// A buffer of the timeline without moves: a tensor (an index into Timeline::tensors) or scratch.
struct Piece {
  std::int64_t bytes = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int32_t tensor = -1;
  std::int32_t scratch = -1;
};

// Before slot `slot` (of the timeline without moves) a piece goes somewhere else.
struct Move {
  std::int32_t slot = 0;
  std::size_t piece = 0;
  friend bool operator<(const Move& a, const Move& b) {
    return std::tie(a.slot, a.piece) < std::tie(b.slot, b.piece);
  }
};

std::vector<Piece> PiecesOf(const Timeline& timeline, const AllSizes& sizes,
                            std::int64_t alignment) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < timeline.tensors.size(); ++i) {
    const LiveTensor& live = timeline.tensors[i];
    pieces.push_back({sizes[live.subgraph].counted[live.tensor], live.first, live.last,
                      static_cast<std::int32_t>(i), -1});
  }
  for (std::size_t i = 0; i < timeline.scratch.size(); ++i) {
    const LiveScratch& scratch = timeline.scratch[i];
    pieces.push_back({AlignUp(scratch.bytes, alignment), scratch.first, scratch.last, -1,
                      static_cast<std::int32_t>(i)});
  }
  return pieces;
}

class Mover {
 public:
  Mover(const Timeline& timeline, const AllSizes& sizes, const plan::Profile& profile,
        std::int64_t target, bool disjoint, const Limits& limits)
      : timeline_(timeline),
        sizes_(sizes),
        profile_(profile),
        target_(target),
        disjoint_(disjoint),
        limits_(limits),
        pieces_(PiecesOf(timeline, sizes, profile.alignment)) {}

  std::optional<MovedPlacement> Compact();
  // Up to two moves, of fewer bytes than `fewer_than` (if that is not negative).
  std::optional<MovedPlacement> Search(std::int64_t fewer_than);

  // Offsets of every stretch of a piece between two moves of it.
  using Offsets = std::vector<std::vector<std::int64_t>>;
  MovedPlacement PlacementOf(const std::vector<Move>& moves, const Offsets& offsets) const;

 private:
  bool ChargeCompaction(std::size_t pieces);
  std::vector<std::int64_t> LiveBetween() const;
  std::vector<Move> Candidates() const;
  std::optional<MovedPlacement> Try(std::vector<Move> moves) const;
  std::int32_t NewSlot(const std::vector<Move>& moves, std::int32_t slot) const;
  bool MakeRoom(std::int32_t slot, std::vector<std::size_t>* live, Offsets* offsets,
                std::vector<Move>* moves) const;
  void MakeRoomApart(std::int32_t slot, std::vector<std::size_t>* live, Offsets* offsets,
                     std::vector<Move>* moves) const;
  std::optional<std::int64_t> LowestGap(const std::vector<std::size_t>& live,
                                        const Offsets& offsets, std::int64_t bytes) const;

  const Timeline& timeline_;
  const AllSizes& sizes_;
  const plan::Profile& profile_;
  std::int64_t target_;
  bool disjoint_;
  const Limits& limits_;
  std::vector<Piece> pieces_;
  std::int64_t compaction_work_ = 0;
};

// Every move takes a slot before the operator that it is for. `slot` is an operator's.
std::int32_t Mover::NewSlot(const std::vector<Move>& moves, std::int32_t slot) const {
  const auto before =
      std::upper_bound(moves.begin(), moves.end(), slot,
                       [](std::int32_t s, const Move& move) { return s < move.slot; });
  return slot + static_cast<std::int32_t>(before - moves.begin());
}

MovedPlacement Mover::PlacementOf(const std::vector<Move>& moves, const Offsets& offsets) const {
  MovedPlacement placement;
  std::vector<std::vector<std::int32_t>> cuts(pieces_.size());  // slots of a piece's moves
  std::size_t next = 0;
  for (std::size_t slot = 0; slot < timeline_.steps.size(); ++slot) {
    for (; next < moves.size() && moves[next].slot == static_cast<std::int32_t>(slot); ++next) {
      const Piece& piece = pieces_[moves[next].piece];
      const LiveTensor& live = timeline_.tensors[static_cast<std::size_t>(piece.tensor)];
      cuts[moves[next].piece].push_back(static_cast<std::int32_t>(placement.steps.size()));
      placement.steps.push_back({live.subgraph, graph::OpId(), live.tensor});
      placement.moved_bytes += sizes_[live.subgraph].exact[live.tensor];
    }
    placement.steps.push_back(timeline_.steps[slot]);
  }
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    std::int32_t first = NewSlot(moves, piece.first);
    const std::int32_t last = piece.last > piece.first ? NewSlot(moves, piece.last - 1) + 1 : first;
    for (std::size_t k = 0; k < offsets[i].size(); ++k) {
      placement.arena_bytes = std::max(placement.arena_bytes, offsets[i][k] + piece.bytes);
      if (piece.scratch >= 0) {
        placement.scratch.push_back(
            {first, offsets[i][k],
             timeline_.scratch[static_cast<std::size_t>(piece.scratch)].bytes});
        break;
      }
      const LiveTensor& live = timeline_.tensors[static_cast<std::size_t>(piece.tensor)];
      const std::int32_t end = k < cuts[i].size() ? cuts[i][k] + 1 : last;
      placement.tensors.push_back({live.subgraph, live.tensor, offsets[i][k],
                                   sizes_[live.subgraph].exact[live.tensor], first, end});
      if (k < cuts[i].size()) first = cuts[i][k];
    }
  }
  return placement;
}

// ---- left compaction

std::optional<std::int64_t> Mover::LowestGap(const std::vector<std::size_t>& live,
                                             const Offsets& offsets, std::int64_t bytes) const {
  std::int64_t at = 0;
  for (const std::size_t other : live) {  // by offset
    if (offsets[other].back() - at >= bytes) return at;
    at = std::max(at, offsets[other].back() + pieces_[other].bytes);
  }
  return at + bytes <= target_ ? std::optional(at) : std::nullopt;
}

// Moves everything down, lowest first. False: scratch of an operator that is running is in the way.
bool Mover::MakeRoom(std::int32_t slot, std::vector<std::size_t>* live, Offsets* offsets,
                     std::vector<Move>* moves) const {
  std::int64_t at = 0;
  for (const std::size_t piece : *live) {
    const std::int64_t old = (*offsets)[piece].back();
    if (old != at) {
      if (pieces_[piece].tensor < 0) return false;
      (*offsets)[piece].push_back(at);
      moves->push_back({slot, piece});
    }
    at += pieces_[piece].bytes;
  }
  return true;
}

// The same where a copy must not touch its source: a tensor that has to move down by less than its
// size is first copied to the lowest gap elsewhere, and down from there. A tensor without a gap
// stays.
void Mover::MakeRoomApart(std::int32_t slot, std::vector<std::size_t>* live, Offsets* offsets,
                          std::vector<Move>* moves) const {
  const auto by_offset = [&](std::size_t a, std::size_t b) {
    return (*offsets)[a].back() < (*offsets)[b].back();
  };
  const auto move = [&](std::size_t piece, std::int64_t to) {
    (*offsets)[piece].push_back(to);
    moves->push_back({slot, piece});
    std::sort(live->begin(), live->end(), by_offset);
  };
  for (const std::size_t piece : std::vector<std::size_t>(*live)) {
    const std::int64_t bytes = pieces_[piece].bytes;
    const std::int64_t old = (*offsets)[piece].back();
    if (pieces_[piece].tensor < 0) continue;
    std::vector<std::size_t> others = *live;
    std::erase(others, piece);
    const auto down = LowestGap(others, *offsets, bytes);
    if (!down || *down >= old) continue;
    if (*down + bytes > old) {
      const auto apart = LowestGap(*live, *offsets, bytes);
      if (!apart) continue;
      move(piece, *apart);
    }
    move(piece, *down);
  }
}

// Charges a look at so many pieces. False: a limit ends the compaction; a short one always ends by
// itself.
bool Mover::ChargeCompaction(std::size_t pieces) {
  constexpr std::int64_t kPieceWork = 10;  // in about nanoseconds
  constexpr std::int64_t kShort = 20'000'000;
  const std::int64_t work = static_cast<std::int64_t>(pieces) * kPieceWork;
  ChargeWork(work);
  compaction_work_ += work;
  return compaction_work_ < kShort || !IsOver(limits_);
}

std::optional<MovedPlacement> Mover::Compact() {
  std::vector<std::vector<std::size_t>> begins(timeline_.steps.size() + 1);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    begins[static_cast<std::size_t>(pieces_[i].first)].push_back(i);
  }
  Offsets offsets(pieces_.size());
  std::vector<Move> moves;
  std::vector<std::size_t> live;  // by offset
  for (std::size_t slot = 0; slot < begins.size(); ++slot) {
    const auto now = static_cast<std::int32_t>(slot);
    if (!ChargeCompaction(live.size())) return std::nullopt;
    std::erase_if(live, [&](std::size_t piece) { return pieces_[piece].last <= now; });
    // Tensors that begin here are placed together, after a compaction of the earlier ones.
    std::stable_sort(begins[slot].begin(), begins[slot].end(), [&](std::size_t a, std::size_t b) {
      return pieces_[a].bytes > pieces_[b].bytes;
    });
    std::vector<std::size_t> before = live;
    for (int attempt = 0; attempt < 2; ++attempt) {
      bool placed = true;
      live = before;
      for (const std::size_t piece : begins[slot]) {
        if (pieces_[piece].bytes == 0 || pieces_[piece].last == now) {
          offsets[piece] = {0};
          continue;
        }
        const auto at = LowestGap(live, offsets, pieces_[piece].bytes);
        placed = placed && at;
        if (!placed) break;
        offsets[piece] = {*at};
        live.insert(std::upper_bound(live.begin(), live.end(), piece,
                                     [&](std::size_t a, std::size_t b) {
                                       return offsets[a].back() < offsets[b].back();
                                     }),
                    piece);
      }
      if (placed) break;
      live = before;
      if (attempt == 1) return std::nullopt;
      if (disjoint_) {
        if (!ChargeCompaction(live.size() * live.size())) return std::nullopt;
        MakeRoomApart(now, &live, &offsets, &moves);
        before = live;  // their order may be another one
      } else if (!MakeRoom(now, &live, &offsets, &moves)) {
        return std::nullopt;
      }
    }
  }
  return PlacementOf(moves, offsets);
}

// ---- few moves

// Bytes of all pieces that are live between slot - 1 and slot.
std::vector<std::int64_t> Mover::LiveBetween() const {
  std::vector<std::int64_t> live(timeline_.steps.size() + 2, 0);
  for (const Piece& piece : pieces_) {
    if (piece.first + 1 >= piece.last) continue;
    live[static_cast<std::size_t>(piece.first) + 1] += piece.bytes;
    live[static_cast<std::size_t>(piece.last)] -= piece.bytes;
  }
  for (std::size_t slot = 1; slot < live.size(); ++slot) live[slot] += live[slot - 1];
  return live;
}

// Cheapest first: those that are tried, and no more, because there are as many as pieces have
// slots.
std::vector<Move> Mover::Candidates() const {
  constexpr std::size_t kMax = 4'000;
  const std::vector<std::int64_t> live = LiveBetween();
  std::vector<std::size_t> by_bytes;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].tensor >= 0 && pieces_[i].bytes > 0) by_bytes.push_back(i);
  }
  std::stable_sort(by_bytes.begin(), by_bytes.end(), [&](std::size_t a, std::size_t b) {
    return pieces_[a].bytes < pieces_[b].bytes;
  });
  std::vector<Move> candidates;
  for (std::size_t begin = 0; begin < by_bytes.size() && candidates.size() < kMax;) {
    // Pieces of the same size take turns: the one with the earliest slot left.
    const std::int64_t bytes = pieces_[by_bytes[begin]].bytes;
    std::set<Move> next;
    for (; begin < by_bytes.size() && pieces_[by_bytes[begin]].bytes == bytes; ++begin) {
      const Piece& piece = pieces_[by_bytes[begin]];
      if (piece.first + 1 < piece.last) next.insert({piece.first + 1, by_bytes[begin]});
    }
    while (!next.empty() && candidates.size() < kMax) {
      Move move = *next.begin();
      next.erase(next.begin());
      const std::int64_t twice = live[static_cast<std::size_t>(move.slot)] + bytes;
      if (!disjoint_ || twice <= target_) candidates.push_back(move);
      if (++move.slot < pieces_[move.piece].last) next.insert(move);
    }
  }
  return candidates;
}

std::optional<MovedPlacement> Mover::Try(std::vector<Move> moves) const {
  std::sort(moves.begin(), moves.end());
  arena::Problem problem;
  std::vector<std::size_t> stretch_of;  // piece of each buffer
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    std::int32_t first = NewSlot(moves, piece.first);
    const std::int32_t last = piece.last > piece.first ? NewSlot(moves, piece.last - 1) + 1 : first;
    for (std::size_t k = 0; k < moves.size(); ++k) {
      if (moves[k].piece != i) continue;
      const std::int32_t at = moves[k].slot + static_cast<std::int32_t>(k);
      problem.buffers.push_back({piece.bytes, first, at + 1, profile_.alignment, std::nullopt});
      stretch_of.push_back(i);
      const auto index = static_cast<arena::BufferIndex>(problem.buffers.size());
      if (!disjoint_) problem.pairs.push_back(arena::Unrelated(index - 1, index));
      first = at;
    }
    problem.buffers.push_back({piece.bytes, first, last, profile_.alignment, std::nullopt});
    stretch_of.push_back(i);
  }
  const arena::Outcome outcome = arena::Solve(problem, limits_);
  if (outcome.placement.height_bytes > target_) return std::nullopt;
  const auto violation = arena::FindViolation(problem, outcome.placement);
  NEAP_CHECK(!violation, "the placement is wrong: " + violation.value_or(""));
  Offsets offsets(pieces_.size());
  for (std::size_t b = 0; b < stretch_of.size(); ++b) {
    offsets[stretch_of[b]].push_back(outcome.placement.offsets[b]);
  }
  return PlacementOf(moves, offsets);
}

std::optional<MovedPlacement> Mover::Search(std::int64_t fewer_than) {
  constexpr int kMaxAttempts = 2000;
  const std::vector<Move> candidates = Candidates();
  const auto bytes = [&](const Move& move) { return pieces_[move.piece].bytes; };
  const auto too_many = [&](std::int64_t moved) { return fewer_than >= 0 && moved >= fewer_than; };
  int attempts = 0;
  for (const Move& move : candidates) {
    if (too_many(bytes(move)) || ++attempts > kMaxAttempts / 2 || IsOver(limits_)) break;
    if (auto placed = Try({move})) return placed;
  }
  // Pairs by their sum: the larger one decides, so that cheap pairs come first.
  for (std::size_t b = 1; b < candidates.size() && attempts < kMaxAttempts; ++b) {
    for (std::size_t a = 0; a < b && attempts < kMaxAttempts; ++a) {
      if (too_many(bytes(candidates[a]) + bytes(candidates[b]))) break;
      if (candidates[a].piece == candidates[b].piece) continue;
      if (IsOver(limits_)) return std::nullopt;
      ++attempts;
      if (auto placed = Try({candidates[a], candidates[b]})) return placed;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<MoveStrategy> MoveStrategyNamed(std::string_view name) {
  if (name == "none") return MoveStrategy::kNone;
  if (name == "compact") return MoveStrategy::kCompact;
  if (name == "best") return MoveStrategy::kBest;
  return std::nullopt;
}

std::optional<MovedPlacement> PlaceWithMoves(const Timeline& timeline, const AllSizes& sizes,
                                             const plan::Profile& profile,
                                             std::int64_t target_bytes, MoveStrategy strategy,
                                             bool disjoint, const Limits& limits) {
  if (strategy == MoveStrategy::kNone || timeline.steps.empty()) return std::nullopt;
  if (!timeline.overlaps.empty()) return std::nullopt;
  const graph::SubgraphId subgraph = timeline.steps.front().subgraph;
  for (const plan::Step& step : timeline.steps) {
    if (step.subgraph != subgraph || !step.op.valid()) return std::nullopt;
  }
  Mover mover(timeline, sizes, profile, target_bytes, disjoint, limits);
  auto compact = mover.Compact();
  if (strategy == MoveStrategy::kCompact) return compact;
  auto few = mover.Search(compact ? compact->moved_bytes : -1);
  return few ? few : compact;
}

MovedPlacement PlacementOfMoves(const Timeline& timeline, const AllSizes& sizes,
                                const plan::Profile& profile, const std::vector<SlotMove>& moves,
                                const std::vector<std::vector<std::int64_t>>& offsets) {
  std::vector<Move> of_pieces;
  of_pieces.reserve(moves.size());
  for (const SlotMove& move : moves) of_pieces.push_back({move.slot, move.tensor});
  const Limits limits;
  return Mover(timeline, sizes, profile, 0, false, limits).PlacementOf(of_pieces, offsets);
}

}  // namespace neap::compile
