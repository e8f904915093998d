#include "ingest/xplane/argument_texts.h"

#include "ingest/input/json_escapes.h"

namespace headroom::xplane {

std::size_t ArgumentTexts::SlotOfMembers() const {
  // Hashes the addresses of texts, not their bytes: shared texts have one address.
  std::uint64_t hash = 0;
  const auto mix = [&](std::uint64_t part) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // The golden ratio, a common hash constant.
    hash = (hash ^ part) * kOdd;
    hash ^= hash >> 32;
  };
  for (const Member& member : members_) {
    mix(reinterpret_cast<std::uintptr_t>(member.key.data()));
    mix(reinterpret_cast<std::uintptr_t>(member.value.text.data()));
    mix(static_cast<std::uint64_t>(member.value.integer));
    mix(std::bit_cast<std::uint64_t>(member.value.number));
  }
  return hash % kSlots;
}

void ArgumentTexts::Write() {
  written_.clear();
  for (const Member& member : members_) {
    if (!written_.empty()) written_ += ", ";
    AppendQuoted(member.key, written_);
    written_ += ": ";
    member.value.AppendTo(written_);
  }
}

StringId ArgumentTexts::Text(StringPool& strings) {
  if (members_.empty()) return StringId::None();
  if (members_.size() > kMaxMembers) {
    Write();
    return strings.Intern(written_);
  }
  Slot& slot = slots_[SlotOfMembers()];
  if (slot.text.valid() && slot.members == members_) return slot.text;
  Write();
  slot.members = members_;
  slot.text = strings.Intern(written_);
  return slot.text;
}

void ArgumentTexts::Forget() {
  members_.clear();
  for (Slot& slot : slots_) {
    slot.members.clear();
    slot.text = StringId::None();
  }
}

}  // namespace headroom::xplane
