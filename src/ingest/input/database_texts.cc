#include "ingest/input/database_texts.h"

#include <algorithm>

namespace headroom::sqlite {

void Texts::Set(std::int64_t id, std::string_view text) {
  const Entry entry = {texts_.Intern(text), StringId::None()};
  constexpr std::size_t kGap = 1024;
  const auto index = static_cast<std::size_t>(id);
  if (id < 0 || index > 2 * rows_++ + kGap) {
    sparse_[id] = entry;
    return;
  }
  if (index >= dense_.size()) dense_.resize(std::max(index + 1, dense_.size() * 2));
  dense_[index] = entry;
}

Texts::Entry* Texts::EntryOf(std::int64_t id) {
  const auto index = static_cast<std::size_t>(id);
  if (id >= 0 && index < dense_.size() && dense_[index].text.valid()) return &dense_[index];
  const auto it = sparse_.find(id);
  return it == sparse_.end() ? nullptr : &it->second;
}

std::string_view Texts::TextOf(std::int64_t id) {
  const Entry* const entry = EntryOf(id);
  return entry == nullptr ? std::string_view() : texts_.Get(entry->text);
}

StringId Texts::Of(std::int64_t id) {
  Entry* const entry = EntryOf(id);
  if (entry == nullptr) return StringId::None();
  if (!entry->stored.valid()) entry->stored = store_.strings.Intern(texts_.Get(entry->text));
  return entry->stored;
}

}  // namespace headroom::sqlite
