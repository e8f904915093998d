// Maps a database's text ids, to which its rows refer, to the texts. Also maps the ids of texts in
// use to ids of the store.
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

  /// Adds a row of the table. If two rows have the same id, the later one wins.
  void Set(std::int64_t id, std::string_view text);
  /// Returns a text without adding it to the store; empty if no row has this id. Valid until the
  /// next Set().
  std::string_view TextOf(std::int64_t id);
  /// Returns the store's id of the text with this id; none if no row has the id.
  StringId Of(std::int64_t id);

 private:
  struct Entry {
    StringId text;    ///< Id in texts_; none if not set.
    StringId stored;  ///< Id in the store, after the first use by a row.
  };
  Entry* EntryOf(std::int64_t id);

  TraceStore& store_;
  // A separate pool, because the kept rows use few of the texts in a profiler's database.
  StringPool texts_;
  std::size_t rows_ = 0;
  std::vector<Entry> dense_;  ///< Indexed by id. Ids count from 0, except in damaged files.
  std::map<std::int64_t, Entry> sparse_;
};

}  // namespace headroom::sqlite
