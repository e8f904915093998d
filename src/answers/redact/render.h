// The report of `headroom redact`: the replaced texts, and the scope of the proof.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "answers/redact/proof.h"
#include "redact/redacted_trace.h"
#include "redact/text_redactor.h"
#include "render/escape.h"

namespace headroom {

struct RedactAnswer {
  std::string output;    ///< Path of the copy.
  std::string map = {};  ///< Path of the list of replacements; empty if not requested.
  std::int64_t events = 0;
  std::vector<Replacement> removed = {};
  ChangedColumns changed = {};
  RedactProof proof = {};

  /// Returns the number of replaced texts by kind.
  std::array<std::int64_t, kSecretKinds> Counts() const {
    std::array<std::int64_t, kSecretKinds> counts{};
    for (const Replacement& row : removed) ++counts[static_cast<std::size_t>(row.kind)];
    return counts;
  }
};

/// Returns headroom.redact/1, see docs/redact.md.
std::string RenderRedactJson(const RedactAnswer& answer);
std::string RenderRedactText(const RedactAnswer& answer, Charset charset);

}  // namespace headroom
