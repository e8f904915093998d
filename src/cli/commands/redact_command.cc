#include "cli/commands/redact_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "analysis/names/host_rules.h"
#include "analysis/names/reference_data.h"
#include "answers/report/answer.h"
#include "answers/report/json.h"
#include "base/atomic_file.h"
#include "base/private_file.h"
#include "cli/flags/value_checks.h"
#include "cli/inputs/chosen_trace.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/terminal/output.h"
#include "cost/device_spec.h"
#include "cost/dtype.h"
#include "cost/kernel_class.h"
#include "export/written_trace.h"
#include "ingest/names/category.h"
#include "ingest/names/range_names.h"
#include "ingest/open_trace.h"
#include "network/collectives.h"
#include "redact/leak_scan.h"
#include "redact/same_report.h"
#include "render/json_writer.h"
#include "render/number_format.h"

namespace headroom::cli {
namespace {

constexpr const char* kRedactExamples = R"(Examples:
  headroom redact trace.json.gz -o share.json.gz                    all that is not public
  headroom redact trace.json.gz -o share.json.gz --remove paths,hosts,users,arguments   names stay
  headroom redact trace.json.gz -o share.json.gz --word bluebird    a project's name, wherever it is
  headroom redact trace.json.gz -o share.json.gz --pattern 'JIRA-[0-9]+'   what has a form
  headroom redact trace.json.gz -o share.json.gz --keep GroupNorm2  a name that may be known
  headroom redact trace.json.gz -o share.json.gz --map names.json   what stands for what, for yourself

Times, sizes, shapes, the GPU and the names of public libraries stay. The copy is read back before it
gets its name: its report must say the same, and nothing that was removed may be in it. docs/redact.md
says what is removed and what is not. Exit codes: 0 fine; 2 usage; 3 the file is unreadable or no
trace; 4 the proof failed, cannot write, or internal error: no file is left.
)";

/// Whether a copy can be put at `path` by a rename: kUsage for a pipe or a device, which one would
/// replace.
Status CheckPlace(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return Status::Ok();
  if (S_ISDIR(info.st_mode)) return CannotWrite(path, EISDIR);
  return Status::Usage(fmt::format(
      "-o {}: not a file; the copy is read back before it gets its name, so name a file",
      Printable(path)));
}

/// Whether two names are of one file, which need not be there yet.
bool IsSamePlace(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto place_of = [](std::filesystem::path path) {
    std::error_code error;
    constexpr int kMaxLinks = 40;  // As many as the system follows.
    for (int i = 0; i < kMaxLinks && std::filesystem::is_symlink(path, error); ++i)
      path = path.parent_path() / std::filesystem::read_symlink(path, error);
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    return std::filesystem::weakly_canonical(folder, error) / path.filename();
  };
  return place_of(a) == place_of(b);
}

/// With its forecasts, by the shipped calibration: that of this machine is for its own traces.
Result<nlohmann::json> ReportOf(const TraceStore& store, const ReferenceData& reference) {
  const Result<TraceReport> report =
      AnswerReport(store, reference, {.calibration = {.path = {}, .no_local_state = true}});
  if (!report.ok()) return report.status();
  return nlohmann::json::parse(RenderJson(std::span(&report.value(), 1), {}));
}

/// Of a name that Headroom's recorders or PyTorch's profiler wrote, what the analyses read: the
/// first word, and all of what the input probe says. Empty: it is another's.
std::string_view OwnName(std::string_view name) {
  constexpr std::string_view kOwn[] = {"ProfilerStep#", "loader.", "setting.loader.", "step."};
  const bool is_own = std::any_of(std::begin(kOwn), std::end(kOwn),
                                  [&](std::string_view own) { return name.starts_with(own); });
  if (!is_own) return {};
  return name.starts_with("loader.probe ") ? name : name.substr(0, name.find(' '));
}

/// Whether a value is of a list that the analyses have: a category, a type of elements, a
/// collective, a GPU.
bool IsListed(const ReferenceData& reference, std::string_view value) {
  return value == "headroom" || RuleOfCategory(value) != CategoryRule::kOther ||
         DTypeFromName(value) || DTypeFromProfiler(value) != DType::kUnknown ||
         (CollectiveNamed(value) && value.find(' ') == std::string_view::npos) ||
         reference.devices().Find(value) != nullptr;
}

/// Whether the analyses make the same of two names of a role.
bool MeanTheSame(const ReferenceData& reference, std::string_view a, std::string_view b,
                 NameRole role) {
  if (role == NameRole::kKernel) {
    const KernelClass was = reference.kernels().Classify(a), is = reference.kernels().Classify(b);
    return was.family == is.family && was.tensor_cores == is.tensor_cores &&
           was.math_dtype == is.math_dtype && was.fast_algorithm == is.fast_algorithm &&
           CopyKindOf(a) == CopyKindOf(b);
  }
  if (role == NameRole::kListed && (IsListed(reference, a) || IsListed(reference, b)))
    return a == b;
  const HostRoles roles = reference.host().RolesOf(a);
  // Which optimizer it is, the rest of its first word says.
  const auto first_word = [](std::string_view name) { return name.substr(0, name.find(' ')); };
  return OwnName(a) == OwnName(b) && NumberedStep(a) == NumberedStep(b) &&
         roles == reference.host().RolesOf(b) &&
         (!roles.Has(HostRole::kOptimizerStep) || first_word(a) == first_word(b));
}

std::array<std::int64_t, kSecretKinds> CountsOf(const std::vector<Replacement>& removed) {
  std::array<std::int64_t, kSecretKinds> counts{};
  for (const Replacement& row : removed) ++counts[static_cast<std::size_t>(row.kind)];
  return counts;
}

}  // namespace

RedactCommand::RedactCommand(Command parent) : threads_(DefaultThreads()) {
  command_ = parent.AddCommand("redact", "A copy of a trace that does not tell whose it is",
                               kRedactExamples);
  command_.AddOption("TRACE", traces_, "A trace file, or a folder of them").Required().TypeName("");
  command_
      .AddOption("-o,--output", output_path_,
                 "Write to FILE, whole or not at all; compressed where it ends in .gz")
      .TypeName("FILE")
      .Check(NotEmpty())
      .Required();
  command_
      .AddOption("--remove", kinds_,
                 "Only these: paths, hosts, users, arguments, names [all of them]")
      .TypeName("KIND,...")
      .Delimiter(',')
      .Check(OneOf({kSecretKindNames.begin(), kSecretKindNames.end()}));
  command_
      .AddOption("--word", words_,
                 "Remove this wherever it is, in any case of letters; may be given several times")
      .TypeName("TEXT");
  command_
      .AddOption("--pattern", patterns_,
                 "Remove what this regular expression (RE2) matches, wherever it is; may be given "
                 "several times")
      .TypeName("REGEX");
  command_.AddOption("--keep", keep_, "A word that stays; may be given several times")
      .TypeName("WORD");
  command_
      .AddOption("--map", map_path_,
                 "Write what stands for what to FILE, which only you can read. Never share it")
      .TypeName("FILE");
  command_.AddOption("--rank", rank_, "Of a folder or of a merged file: this rank")
      .TypeName("R")
      .Check(WholeNumber(0, INT32_MAX));
  command_.AddFlag("--json", json_, "One JSON object, format headroom.redact/1");
  command_.AddOption("--threads", threads_, "Threads that read a file [all]")
      .TypeName("N")
      .Check(WholeNumber(1, 1024));
  command_.AddFlag("-q,--quiet", quiet_, "No summary, and no remarks on stderr");
}

Result<RedactOptions> RedactCommand::Options() const {
  RedactOptions options;
  options.keep = keep_;
  Result<AskedTexts> asked = AskedTexts::Compile(words_, patterns_);
  if (!asked.ok()) return asked.status();
  options.asked = std::move(asked).value();
  for (const std::string& word : words_) {
    if (std::find(keep_.begin(), keep_.end(), word) != keep_.end())
      return Status::Usage(fmt::format("{} is both --word and --keep", Printable(word)));
  }
  if (!command_.is_given("--remove")) return options;
  options.remove.fill(false);
  for (const std::string& kind : kinds_) {
    const auto* const at = std::find(kSecretKindNames.begin(), kSecretKindNames.end(), kind);
    options.remove[static_cast<std::size_t>(at - kSecretKindNames.begin())] = true;
  }
  return options;
}

Result<RedactCommand::Proof> RedactCommand::Prove(TraceStore& before, const std::string& copy,
                                                  const ReferenceData& reference,
                                                  TextRedactor& redactor) const {
  OpenOptions open;
  open.threads = threads_;
  open.expansion.max_ratio = INT64_MAX;  // What was just written is no bomb.
  const Result<std::unique_ptr<TraceStore>> after = OpenTrace(copy, open);
  if (!after.ok()) return after.status();
  const auto failed = [&](const std::string& why) {
    return Status::Environment(
        fmt::format("{}: not written, as its proof failed: {}", Printable(output_path_), why));
  };
  Proof proof;
  const LeakScan scan(redactor.Replacements(), redactor);
  proof.texts = scan.texts();
  const Result<std::optional<Leak>> leak = scan.ScanFile(copy, proof.bytes);
  if (!leak.ok()) return leak.status();
  const bool of_format = leak.value() && leak.value()->asked;
  if (leak.value() && !of_format) {
    return failed(
        fmt::format("'{}' is still there ({}, byte {}); --word and --pattern remove a text "
                    "wherever it is, --keep allows a word",
                    Printable(leak.value()->original), leak.value()->form, leak.value()->offset));
  }
  std::string leaked;
  ForEachText(*after.value(), [&](std::string_view text) {
    if (!leaked.empty()) return;
    const std::string_view address =
        redactor.removes(SecretKind::kHosts) ? redactor.AddressIn(text) : std::string_view();
    if (!address.empty()) {
      leaked = fmt::format("the address {} is still there, in '{}'; --keep {} lets it stay",
                           Printable(address), Printable(text), Printable(address));
      return;
    }
    if (const auto found = scan.LeakedText(text))
      leaked = fmt::format("'{}' is still there, in '{}'", Printable(*found), Printable(text));
  });
  if (!leaked.empty()) return failed(leaked);
  if (of_format) {
    // No text of the trace has it any more.
    return failed(fmt::format(
        "--word {0}: '{0}' stands outside the texts of the trace ({1}, byte {2}), where the format "
        "of the copy has words of its own; leave that --word out, or write the other format "
        "(-o FILE.json or FILE.pftrace)",
        Printable(leak.value()->original), leak.value()->form, leak.value()->offset));
  }
  // Of whatever format a copy is.
  before.metadata.copied_from = before.metadata.recorded_as();
  before.metadata.format = after.value()->metadata.format;
  const Result<nlohmann::json> was = ReportOf(before, reference);
  if (!was.ok()) return was.status();
  const Result<nlohmann::json> is = ReportOf(*after.value(), reference);
  if (!is.ok()) return is.status();
  const std::vector<Needed> decisive = redactor.decisive();  // Before texts of the report are read.
  if (const auto place = FirstDifference(was.value(), is.value(), redactor, proof.compared)) {
    if (const auto& needed = redactor.needed()) {
      return failed(fmt::format(
          "the report says something else at {}: '{}' was asked for and is part of '{}', by which "
          "the analyses know what the event is; leave that --word or --pattern out, or narrow it",
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
          fmt::format("the report says something else at {}: it depends on {}. If the name is "
                      "public, add{}",
                      *place, words, keeps));
    }
    return failed(fmt::format(
        "the report says something else at {}; {}", *place,
        redactor.asked().empty()
            ? "if a word decides it, --keep that word"
            : "leave out the --word or --pattern that is part of what frameworks write, or, where "
              "it is none of these, --keep the word that decides it"));
  }
  return proof;
}

Status RedactCommand::WriteMap(const std::vector<Replacement>& removed) const {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Replacement& row : removed) {
    rows.push_back({{"token", row.token},
                    {"kind", kSecretKindNames[static_cast<std::size_t>(row.kind)]},
                    {"original", row.original}});
  }
  Result<PrivateFile> file = PrivateFile::Create(map_path_, /*replace=*/false);
  if (!file.ok()) return file.status();
  const nlohmann::ordered_json whole = {{"schema", "headroom.redact-map/1"},
                                        {"replaced", std::move(rows)}};
  Status written = file.value().Append(
      whole.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  if (!written.ok()) unlink(map_path_.c_str());  // It is new, so it is ours.
  return written;
}

std::string RedactCommand::Text(const std::vector<Replacement>& removed,
                                const ChangedColumns& changed, const Proof& proof,
                                std::int64_t events) const {
  std::string text;
  const std::array<std::int64_t, kSecretKinds> counts = CountsOf(removed);
  text += "Replaced\n";
  for (std::size_t kind = 0; kind < kSecretKinds; ++kind)
    text += fmt::format("  {:>8} {}\n", FormatCount(counts[kind]), kSecretKindNames[kind]);
  const bool any_changed = std::any_of(changed.begin(), changed.end(),
                                       [](const auto& column) { return column.second > 0; });
  if (any_changed) text += "In rows of\n";
  for (const auto& [column, rows] : changed) {
    if (rows > 0) text += fmt::format("  {:>8} {}\n", FormatCount(rows), column);
  }
  const bool for_its_place = std::all_of(removed.begin(), removed.end(), [](const auto& row) {
    return row.kind == SecretKind::kArguments;
  });
  const std::string scanned =
      proof.texts == 0
          ? std::string(!any_changed ? "nothing had to be replaced"
                        : for_its_place
                            ? "what is gone was dropped for its place, whatever its text"
                            : "what is gone are numbers or public words, which may stand elsewhere")
          : fmt::format("none of {} removed texts is in the {} that were written, plain or encoded",
                        FormatCount(static_cast<std::int64_t>(proof.texts)),
                        FormatBytes(static_cast<double>(proof.bytes)));
  text += fmt::format("Proved: {}; {} values of the report are equal but for names.\n", scanned,
                      FormatCount(proof.compared));
  text +=
      "It still tells: times and sizes, shapes, the GPU, versions, when it was recorded, and words "
      "that frameworks use.\n";
  if (!map_path_.empty())
    text += fmt::format("What stands for what is in {}: keep it to yourself.\n",
                        Printable(map_path_, CharsetOfEnvironment()));
  return text + fmt::format("Wrote {}: {}.\n", Printable(output_path_, CharsetOfEnvironment()),
                            Plural(events, "event"));
}

std::string RedactCommand::Json(const std::vector<Replacement>& removed,
                                const ChangedColumns& changed, const Proof& proof,
                                std::int64_t events) const {
  const std::array<std::int64_t, kSecretKinds> counts = CountsOf(removed);
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.redact/1");
  json.Key("output").String(output_path_);
  json.Key("events").Integer(events);
  json.Key("replaced").BeginObject();
  for (std::size_t kind = 0; kind < kSecretKinds; ++kind)
    json.Key(kSecretKindNames[kind]).Integer(counts[kind]);
  json.EndObject();
  json.Key("changed_rows").BeginArray(JsonWriter::Layout::kLines);
  for (const auto& [column, rows] : changed) {
    json.BeginObject();
    json.Key("column").String(column);
    json.Key("rows").Integer(rows);
    json.EndObject();
  }
  json.EndArray();
  json.Key("proof").BeginObject();
  json.Key("texts").Integer(static_cast<std::int64_t>(proof.texts));
  json.Key("scanned_bytes").Integer(proof.bytes);
  json.Key("compared_values").Integer(proof.compared);
  json.EndObject();
  json.EndObject();
  return std::move(json).Take() + "\n";
}

Status RedactCommand::Run() {
  if (json_ && quiet_) return Status::Usage("--json asks for the summary that --quiet leaves out");
  Result<RedactOptions> options = Options();
  if (!options.ok()) return options.status();
  const Result<TraceFiles> files = FindTraceFiles(traces_);
  if (!files.ok()) return files.status();
  if (output_path_ == "-") return Status::Usage("-o -: a trace goes to a file; name it");
  if (Status status = RefuseToOverwrite("-o", output_path_, files.value().paths); !status.ok())
    return status;
  if (!map_path_.empty() && access(map_path_.c_str(), F_OK) == 0)
    return Status::Usage(fmt::format("--map {}: there is such a file; remove it, or name another",
                                     Printable(map_path_)));
  if (!map_path_.empty() && IsSamePlace(map_path_, output_path_)) {
    return Status::Usage(fmt::format("--map {}: that is where the copy goes; name another file",
                                     Printable(map_path_)));
  }
  if (Status status = CheckPlace(output_path_); !status.ok()) return status;
  const Result<PublicNames> names = PublicNames::LoadBuiltIn();
  if (!names.ok()) return names.status();
  Result<ChosenTrace> trace = OpenChosenTrace(files.value(), rank_, threads_, quiet_);
  if (!trace.ok()) return trace.status();

  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  options.value().mean_the_same = [&](std::string_view a, std::string_view b, NameRole role) {
    return MeanTheSame(*reference.value(), a, b, role);
  };
  TextRedactor redactor(names.value(), std::move(options).value());
  // What this machine is called, should the trace be of it.
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) redactor.LearnHost(host.data());
  ChangedColumns changed;
  Result<WrittenTrace> copy = PrepareTrace(*RedactedTrace(*trace.value().store, redactor, changed),
                                           FormatOfName(output_path_), output_path_);
  if (!copy.ok()) return copy.status();
  const std::vector<Replacement> removed = redactor.Replacements();
  const Result<Proof> proof =
      Prove(*trace.value().store, copy.value().file.temporary_path(), *reference.value(), redactor);
  if (!proof.ok()) return proof.status();
  if (!map_path_.empty()) {
    if (Status status = WriteMap(removed); !status.ok()) return status;
  }
  if (Status status = copy.value().file.Commit(); !status.ok()) {
    if (!map_path_.empty()) unlink(map_path_.c_str());
    return status;
  }
  if (quiet_) return Status::Ok();
  const std::int64_t events = copy.value().events;
  return WriteResult(json_ ? Json(removed, changed, proof.value(), events)
                           : Text(removed, changed, proof.value(), events),
                     "");
}

}  // namespace headroom::cli
