#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "answers/redact/render.h"
#include "render/number_format.h"

namespace headroom {

std::string RenderRedactText(const RedactAnswer& answer, Charset charset) {
  std::string text;
  const std::array<std::int64_t, kSecretKinds> counts = answer.Counts();
  text += "Replaced\n";
  for (std::size_t kind = 0; kind < kSecretKinds; ++kind)
    text += fmt::format("  {:>8} {}\n", FormatCount(counts[kind]), kSecretKindNames[kind]);
  const bool any_changed = std::any_of(answer.changed.begin(), answer.changed.end(),
                                       [](const auto& column) { return column.second > 0; });
  if (any_changed) text += "In rows of\n";
  for (const auto& [column, rows] : answer.changed) {
    if (rows > 0) text += fmt::format("  {:>8} {}\n", FormatCount(rows), column);
  }
  const bool for_its_place =
      std::all_of(answer.removed.begin(), answer.removed.end(),
                  [](const auto& row) { return row.kind == SecretKind::kArguments; });
  const std::string scanned =
      answer.proof.texts == 0
          ? std::string(!any_changed    ? "nothing had to be replaced"
                        : for_its_place ? "all removed texts were dropped because of their place, "
                                          "regardless of their content"
                                        : "the removed texts are numbers or public words, which "
                                          "may also occur elsewhere")
          : fmt::format(
                "none of {} removed texts occurs in the {} that were written, plain or encoded",
                FormatCount(static_cast<std::int64_t>(answer.proof.texts)),
                FormatBytes(static_cast<double>(answer.proof.bytes)));
  text += fmt::format("Proved: {}; {} values of the report are equal except for names.\n", scanned,
                      FormatCount(answer.proof.compared));
  text +=
      "The copy still contains times and sizes, shapes, the GPU, versions, the date of the "
      "recording, and words that frameworks use.\n";
  if (!answer.map.empty())
    text += fmt::format("The replacements are in {}: do not share this file.\n",
                        Printable(answer.map, charset));
  return text + fmt::format("Wrote {}: {}.\n", Printable(answer.output, charset),
                            Plural(answer.events, "event"));
}

}  // namespace headroom
