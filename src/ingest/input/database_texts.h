// A table of texts that rows name by ids, and the store's ids of those that rows use.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/string_pool.h"
#include "store/trace_store.h"

namespace headroom::sqlite {

class Texts {
 public:
  explicit Texts(TraceStore& store) : store_(store) {}

  /// A row of the table. Of two with one id, the later one holds.
  void Set(std::int64_t id, std::string_view text);
  /// A text without a place in the store; empty where no row has this id. Until the next Set().
  std::string_view TextOf(std::int64_t id);
  /// The store's id of a text; none where no row has this id.
  StringId Of(std::int64_t id);

 private:
  struct Entry {
    StringId text;    ///< In texts_; none: not set.
    StringId stored;  ///< In the store, once a row has used it.
  };
  Entry* EntryOf(std::int64_t id);

  TraceStore& store_;
  // Not the store's: most texts of a profiler's database are of no row that is kept.
  StringPool texts_;
  std::size_t rows_ = 0;
  std::vector<Entry> dense_;  ///< By id, which count from 0 in all but damaged files.
  std::map<std::int64_t, Entry> sparse_;
};

}  // namespace headroom::sqlite
