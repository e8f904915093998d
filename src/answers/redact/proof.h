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

/// A copy that was written to `path`, but not yet renamed to `final_path`.
struct RedactedCopy {
  std::string path;
  std::string final_path;
  int threads = 1;  ///< Number of threads that read the copy back.
};

/// Amount of checked data.
struct RedactProof {
  std::int64_t bytes = 0;     ///< Size of the copy, decompressed.
  std::int64_t compared = 0;  ///< Number of compared values of the report.
  std::size_t texts = 0;      ///< Number of removed texts that the scan searched for.
};

/// Reads the copy back. Fails with kEnvironment if the copy is wrong, and states the remedy. Fails
/// as OpenTrace() does.
///
/// @param before    original trace; its `metadata.format` and `metadata.copied_from` are set to
/// those of the copy
/// @param redactor  redactor that made the copy; maps the names of both reports
Result<RedactProof> ProveCopy(TraceStore& before, const RedactedCopy& copy,
                              const ReferenceData& reference, TextRedactor& redactor);

}  // namespace headroom
