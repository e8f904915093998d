#include "export/written_size.h"

#include <cstdint>
#include <type_traits>

namespace headroom {

Status CheckWrittenTexts(const TraceStore& store, const std::string& path, ExpansionLimit limit) {
  std::int64_t bytes = 0;
  const auto add = [&](const char*, const auto& column) {
    for (const auto& value : column.values()) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, StringId>) {
        if (value.valid()) bytes += static_cast<std::int64_t>(store.Text(value).size());
      }
    }
  };
#define HEADROOM_ADD_TEXTS(Name, member, sentence) store.member.ForEachColumn(add);
  HEADROOM_TABLES(HEADROOM_ADD_TEXTS)
#undef HEADROOM_ADD_TEXTS
  return limit.CheckWritten(path, bytes, store.metadata.file_bytes);
}

}  // namespace headroom
