/// What the fitter says of a node, found without it for the requests that most pods make: cards of
/// one vendor for one container, no named cards, no NUMA bind, no vendor with a will of its own.
/// Then the cards do not influence one another, so each state of a card (card_board.h) is judged
/// once per class, by the fitter's own checks, and a node is a walk over its row. For anything else
/// suits() is false, or look() is for the node, and the fitter decides.
///   QuickLook quick(request, rules, serial); if (quick.suits() && quick.look(board, id, m, v)) …
/// Thread rule: one object and one memory per thread; request and rules must outlive it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/card_board.h"
#include "core/card_check.h"
#include "core/demand.h"
#include "core/place.h"
#include "core/reject.h"
#include "core/request.h"

namespace tessera::core {

/// What was found about one node for one class.
struct Verdict {
  bool fits = false;
  bool by_fitter = false;
  NodeKey key;
  Reject reject;
};

class QuickLook {
 public:
  /// Working memory for the classes of one index, one after the other. What it holds is good as
  /// long as the same class asks about the same states.
  class Memory {
    friend class QuickLook;
    struct CardVerdict {
      std::uint32_t stamp = 0;  ///< of another class: not judged yet
      std::uint8_t outcome = 0;
      bool knows_after = false;
      std::int64_t load = 0, load_after = 0;
    };
    std::vector<CardVerdict> cards_;  // by state
    std::vector<std::int64_t> keys_;  // by state, one per device policy
    struct Pick {
      std::uint32_t state = 0, place = 0;
    };
    std::vector<Pick> picks_;
    std::uint64_t class_ = 0, epoch_ = 0;
    std::uint32_t stamp_ = 0;
  };

  /// `serial`: another number for every class, above 0.
  QuickLook(const Request& request, const VendorTable& rules, std::uint64_t serial);
  bool suits() const { return suits_; }

  /// Before the first look after the board has moved or another class has used the memory.
  void open(const CardBoard& board, Memory& memory) const;
  /// False: the node is beyond it and `out` means nothing.
  bool look(const CardBoard& board, NodeId id, Memory& memory, Verdict& out);

 private:
  // Outcomes of a card: the reasons, kCount for "fits", and this.
  static constexpr std::uint8_t kFits = static_cast<std::uint8_t>(CardReason::kCount);
  static constexpr std::uint8_t kNotAsked = kFits + 1;

  Usage with_slice(const CardBoard::State& state, const Device& device) const;
  void judge(const CardBoard& board, std::uint32_t state, Memory& memory);
  bool better(const Memory& memory, std::uint32_t a, std::uint32_t b) const;
  std::int64_t added_load(const CardBoard& board, std::uint32_t state, Memory& memory) const;
  std::int64_t load_of_best(const CardBoard& board, std::span<const CardBoard::Card> cards,
                            Memory& memory) const;
  void refuse(NodeReason reason, std::uint32_t devices, Verdict& out) const;

  const Request& request_;
  DemandList list_;
  CardCheck check_;
  std::uint64_t serial_;
  std::size_t key_count_;
  bool suits_;
};

}  // namespace tessera::core
