// The arguments of an event as one string, which events of one operation share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/string_pool.h"
#include "ingest/xplane/stat_value.h"

namespace headroom::xplane {

/// Caches arguments as JSON. Events of one operation refer to the same texts in each step, so each
/// distinct set of arguments is written once. Keeps a bounded number of sets.
class ArgumentTexts {
 public:
  ArgumentTexts() : slots_(kSlots) {}

  /// Starts the next event.
  void Clear() { members_.clear(); }
  void Add(std::string_view key, const StatValue& value) { members_.push_back({key, value}); }
  /// Returns the arguments added since Clear(), as members of a JSON object; none if no argument
  /// was added.
  StringId Text(StringPool& strings);

  /// Clears the cache. Call it before the memory of keys and values is released.
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
  /// Maximum number of arguments of a cached event; only hostile files have more.
  static constexpr std::size_t kMaxMembers = 256;

  std::size_t SlotOfMembers() const;
  /// Writes the current members as JSON into `written_`.
  void Write();

  std::vector<Member> members_;
  std::vector<Slot> slots_;
  std::string written_;  ///< Reused buffer.
};

}  // namespace headroom::xplane
