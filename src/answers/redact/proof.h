// The proof of a redacted copy: nothing that was removed is in it, and its report says the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "analysis/names/reference_data.h"
#include "base/status.h"
#include "redact/text_redactor.h"
#include "store/trace_store.h"

namespace headroom {

/// A copy that was written, but does not have its name yet.
struct RedactedCopy {
  std::string path;
  std::string final_path;
  int threads = 1;  ///< For reading it.
};

/// Size of the check.
struct RedactProof {
  std::int64_t bytes = 0;     ///< Of the copy, decompressed.
  std::int64_t compared = 0;  ///< Values of the report.
  std::size_t texts = 0;      ///< Removed ones that were looked for.
};

/// Reads the copy back. Fails (kEnvironment) with what is wrong with it and the remedy, and as
/// OpenTrace() does.
///
/// @param before    the trace; its metadata take the copy's format, and `copied_from`
/// @param redactor  that made the copy; reads the texts of both reports
Result<RedactProof> ProveCopy(TraceStore& before, const RedactedCopy& copy,
                              const ReferenceData& reference, TextRedactor& redactor);

}  // namespace headroom
