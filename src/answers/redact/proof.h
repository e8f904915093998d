// Proves a redacted copy: it contains no removed text, and its report is the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "analysis/names/reference_data.h"
#include "base/status.h"
#include "redact/text_redactor.h"
#include "store/trace_store.h"

namespace headroom {

/// A copy that was written, but not yet renamed.
struct RedactedCopy {
  std::string path;
  std::string final_path;
  int threads = 1;  ///< Threads that read it.
};

/// Size of the check.
struct RedactProof {
  std::int64_t bytes = 0;     ///< Size of the copy, decompressed.
  std::int64_t compared = 0;  ///< Compared values of the report.
  std::size_t texts = 0;      ///< Removed texts that the scan looked for.
};

/// Reads the copy back. Fails with kEnvironment if the copy is wrong, and states the remedy. Fails
/// as OpenTrace() does.
///
/// @param before    the trace; its metadata take the copy's format, and `copied_from`
/// @param redactor  that made the copy; reads the texts of both reports
Result<RedactProof> ProveCopy(TraceStore& before, const RedactedCopy& copy,
                              const ReferenceData& reference, TextRedactor& redactor);

}  // namespace headroom
