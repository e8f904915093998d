// Opens a trace file that is an SQLite database.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "ingest/input/database.h"
#include "store/trace_store.h"

namespace headroom::sqlite {

/// Called occasionally with the number of bytes read so far; may be empty.
using Progress = std::function<void(std::int64_t)>;
/// Reads an open database into the store.
using Reader = std::function<Status(const Database&, const Progress&)>;

/// Opens the database at `path` and passes it to `read`. SQLite needs random access to a file, so
/// compressed or piped data is first written to a temporary file. That file is unlinked before it
/// is read.
///
/// @param bytes           the file from its beginning, decompressed; read only if needed
/// @param max_text_bytes  longer values end the reading of their table
/// @param expansion       limits the rows of compressed databases
/// @param store           receives problems of the file as a whole, and its size
///
/// Fails as `read` and ExpansionLimit::CheckEvents() do, and with kEnvironment if the temporary
/// file cannot be written.
Status ReadDatabase(const std::string& path, ByteSource& bytes, std::int64_t max_text_bytes,
                    ExpansionLimit expansion, const Progress& progress, const Reader& read,
                    TraceStore& store);

}  // namespace headroom::sqlite
