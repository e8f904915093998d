// The arguments of an event as one text, which events of one operation share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/string_pool.h"
#include "ingest/xplane/stat_value.h"

namespace headroom::xplane {

/// Events of one operation say the same from step to step, by reference to the same texts: each is
/// written as JSON once. Remembers a bounded number of them.
class ArgumentTexts {
 public:
  ArgumentTexts() : slots_(kSlots) {}

  /// Begins with the next event.
  void Clear() { members_.clear(); }
  void Add(std::string_view key, const StatValue& value) { members_.push_back({key, value}); }
  /// The arguments added since Clear(), as members of a JSON object; none where there are none.
  StringId Text(StringPool& strings);

  /// To be called before the memory of keys and values goes.
  void Forget();

 private:
  struct Member {
    std::string_view key;
    StatValue value;
    bool operator==(const Member&) const = default;
  };
  struct Slot {
    std::vector<Member> members;
    StringId text;
  };
  static constexpr std::size_t kSlots = 1024;
  /// Of an event that is remembered; more are nobody's but an attacker's.
  static constexpr std::size_t kMaxMembers = 256;

  std::size_t SlotOfMembers() const;
  /// The members at hand as JSON, into `written_`.
  void Write();

  std::vector<Member> members_;
  std::vector<Slot> slots_;
  std::string written_;  ///< Scratch.
};

}  // namespace headroom::xplane
