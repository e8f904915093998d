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
/// compressed or piped data is first written to a temporary file. The temporary file is unlinked
/// before `read` is called.
///
/// @param bytes           the file from its beginning, decompressed; read only if needed
/// @param max_text_bytes  maximum size of a text value; a longer one ends the reading of its table
/// @param expansion       limit on the number of rows in a compressed database
/// @param store           destination of the file size, and of log entries about the whole file
///
/// Fails as `read` and ExpansionLimit::CheckEvents() do, and with kEnvironment if the temporary
/// file cannot be written.
Status ReadDatabase(const std::string& path, ByteSource& bytes, std::int64_t max_text_bytes,
                    ExpansionLimit expansion, const Progress& progress, const Reader& read,
                    TraceStore& store);

}  // namespace headroom::sqlite
