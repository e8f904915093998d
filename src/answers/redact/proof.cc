#include "answers/redact/proof.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "answers/report/answer.h"
#include "answers/report/json.h"
#include "ingest/open_trace.h"
#include "redact/leak_scan.h"
#include "redact/redacted_trace.h"
#include "redact/same_report.h"
#include "render/escape.h"

namespace headroom {
namespace {

/// Returns the report with its forecasts. Uses the shipped calibration, because this machine's
/// calibration applies only to its own traces.
Result<nlohmann::json> ReportOf(const TraceStore& store, const ReferenceData& reference) {
  const Result<TraceReport> report =
      AnswerReport(store, reference, {.calibration = {.path = {}, .no_local_state = true}});
  if (!report.ok()) return report.status();
  return nlohmann::json::parse(RenderJson(std::span(&report.value(), 1), {}));
}

}  // namespace

Result<RedactProof> ProveCopy(TraceStore& before, const RedactedCopy& copy,
                              const ReferenceData& reference, TextRedactor& redactor) {
  OpenOptions open;
  open.threads = copy.threads;
  open.expansion.max_ratio = INT64_MAX;  // This program wrote the file, so it is not a
                                         // decompression bomb.
  const Result<std::unique_ptr<TraceStore>> after = OpenTrace(copy.path, open);
  if (!after.ok()) return after.status();
  const auto failed = [&](const std::string& why) {
    return Status::Environment(fmt::format("{}: not written, because its proof failed: {}",
                                           Printable(copy.final_path), why));
  };
  RedactProof proof;
  const LeakScan scan(redactor.Replacements(), redactor);
  proof.texts = scan.texts();
  const Result<std::optional<Leak>> leak = scan.ScanFile(copy.path, proof.bytes);
  if (!leak.ok()) return leak.status();
  const bool of_format = leak.value() && leak.value()->asked;
  if (leak.value() && !of_format) {
    return failed(
        fmt::format("'{}' is still in the copy ({}, byte {}); --word and --pattern remove a string "
                    "everywhere, --keep allows a word",
                    Printable(leak.value()->original), leak.value()->form, leak.value()->offset));
  }
  std::string leaked;
  ForEachText(*after.value(), [&](std::string_view text) {
    if (!leaked.empty()) return;
    const std::string_view address =
        redactor.removes(SecretKind::kHosts) ? redactor.AddressIn(text) : std::string_view();
    if (!address.empty()) {
      leaked = fmt::format("the address {} is still in the copy, in '{}'; --keep {} allows it",
                           Printable(address), Printable(text), Printable(address));
      return;
    }
    if (const auto found = scan.LeakedText(text))
      leaked = fmt::format(
          "'{}' is still in the copy, in '{}'; --word and --pattern remove a string everywhere, "
          "--keep allows a word",
          Printable(*found), Printable(text));
  });
  if (!leaked.empty()) return failed(leaked);
  if (of_format) {
    // The strings of the trace no longer contain the word, so it occurs in the copy's format.
    return failed(
        fmt::format("--word {0}: '{0}' occurs outside the strings of the trace ({1}, byte {2}), in "
                    "words of the copy's format; leave out that --word, or write the other format "
                    "(-o FILE.json or FILE.pftrace)",
                    Printable(leak.value()->original), leak.value()->form, leak.value()->offset));
  }
  // The copy may have another format than the trace.
  before.metadata.copied_from = before.metadata.recorded_as();
  before.metadata.format = after.value()->metadata.format;
  const Result<nlohmann::json> was = ReportOf(before, reference);
  if (!was.ok()) return was.status();
  const Result<nlohmann::json> is = ReportOf(*after.value(), reference);
  if (!is.ok()) return is.status();
  // Copies these entries now, because FirstDifference() adds more: it redacts the reports' strings.
  const std::vector<Needed> decisive = redactor.decisive();
  if (const auto place = FirstDifference(was.value(), is.value(), redactor, proof.compared)) {
    if (const auto& needed = redactor.needed()) {
      return failed(
          fmt::format("the report differs at {}: '{}' matches a --word or --pattern and is part of "
                      "'{}', by which the analyses recognize the event; leave out that --word or "
                      "--pattern, or narrow it",
                      *place, Printable(needed->part), Printable(needed->text)));
    }
    if (!decisive.empty()) {
      std::string words, keeps;
      for (const Needed& one : decisive) {
        words += fmt::format("{}'{}' of '{}'", words.empty() ? "" : ", ", Printable(one.part),
                             Printable(one.text));
        keeps += fmt::format(" --keep {}", Printable(one.part));
      }
      return failed(
          fmt::format("the report differs at {}: it depends on {}. If the name is public, add{}",
                      *place, words, keeps));
    }
    return failed(
        fmt::format("the report differs at {}; {}", *place,
                    redactor.asked().empty()
                        ? "if a removed word causes the difference, keep the word with --keep"
                        : "leave out the --word or --pattern that matches a name of a framework; "
                          "if none does, use --keep to keep the word that causes the difference"));
  }
  return proof;
}

}  // namespace headroom
