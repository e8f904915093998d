#include "cli/commands/redact_command.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "analysis/names/reference_data.h"
#include "answers/redact/name_meaning.h"
#include "answers/redact/proof.h"
#include "answers/redact/render.h"
#include "base/atomic_file.h"
#include "base/private_file.h"
#include "cli/flags/value_checks.h"
#include "cli/inputs/chosen_trace.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/terminal/output.h"
#include "export/written_trace.h"
#include "redact/redacted_trace.h"

namespace headroom::cli {
namespace {

constexpr const char* kRedactExamples = R"(Examples:
  headroom redact trace.json.gz -o share.json.gz                    removes all private data
  headroom redact trace.json.gz -o share.json.gz --remove paths,hosts,users,arguments   keeps names
  headroom redact trace.json.gz -o share.json.gz --word bluebird    a project's name, everywhere
  headroom redact trace.json.gz -o share.json.gz --pattern 'JIRA-[0-9]+'   all matches
  headroom redact trace.json.gz -o share.json.gz --keep GroupNorm2  a name to keep
  headroom redact trace.json.gz -o share.json.gz --map names.json   the replacements, for you only

Times, sizes, shapes, the GPU and the names of public libraries are kept. The copy is read back
before it gets its name: its report must be the same, and it must contain no removed text.
docs/redact.md lists what is removed and what is kept. Exit codes: 0 fine; 2 usage; 3 the file is
unreadable or not a trace; 4 the proof failed, cannot write, or internal error: no file is left.
)";

/// Fails with kUsage if `path` is a pipe or a device, which the final rename would replace.
Status CheckPlace(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return Status::Ok();
  if (S_ISDIR(info.st_mode)) return CannotWrite(path, EISDIR);
  return Status::Usage(fmt::format(
      "-o {}: not a regular file; name a regular file, because redact checks a temporary copy and "
      "then renames it",
      Printable(path)));
}

/// Returns true if two names denote one file. The file need not exist.
bool IsSamePlace(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto place_of = [](std::filesystem::path path) {
    std::error_code error;
    constexpr int kMaxLinks = 40;  // Maximum number of links that Linux follows.
    for (int i = 0; i < kMaxLinks && std::filesystem::is_symlink(path, error); ++i)
      path = path.parent_path() / std::filesystem::read_symlink(path, error);
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    return std::filesystem::weakly_canonical(folder, error) / path.filename();
  };
  return place_of(a) == place_of(b);
}

}  // namespace

RedactCommand::RedactCommand(Command parent) {
  command_ = parent.AddCommand("redact", "Copy a trace without identifying data", kRedactExamples);
  command_.AddOption("TRACE", traces_, "A trace file, or a folder of them").Required().TypeName("");
  command_
      .AddOption("-o,--output", output_path_,
                 "Write to FILE, whole or not at all; compressed if it ends in .gz")
      .TypeName("FILE")
      .Check(NotEmpty())
      .Required();
  command_
      .AddOption("--remove", kinds_,
                 "Remove only these: paths, hosts, users, arguments, names [all]")
      .TypeName("KIND,...")
      .Delimiter(',')
      .Check(OneOf({kSecretKindNames.begin(), kSecretKindNames.end()}));
  command_
      .AddOption("--word", words_,
                 "Remove this word everywhere, in upper and lower case; may be given several times")
      .TypeName("TEXT");
  command_
      .AddOption("--pattern", patterns_,
                 "Remove all matches of this regular expression (RE2); may be given several times")
      .TypeName("REGEX");
  command_.AddOption("--keep", keep_, "Keep this word; may be given several times")
      .TypeName("WORD");
  command_
      .AddOption("--map", map_path_,
                 "Write the replacements to FILE, readable only by you. Never share it")
      .TypeName("FILE");
  command_.AddOption("--rank", rank_, "This rank of a folder or of a merged file")
      .TypeName("R")
      .Check(WholeNumber(0, INT32_MAX));
  command_.AddFlag("--json", json_, "One JSON object, format headroom.redact/1");
  AddOpenFlags(command_, open_);
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
      return Status::Usage(
          fmt::format("{} is given to both --word and --keep; choose one", Printable(word)));
  }
  if (!command_.is_given("--remove")) return options;
  options.remove.fill(false);
  for (const std::string& kind : kinds_) {
    const auto* const at = std::find(kSecretKindNames.begin(), kSecretKindNames.end(), kind);
    options.remove[static_cast<std::size_t>(at - kSecretKindNames.begin())] = true;
  }
  return options;
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
  // This run created the file, so removing it is safe.
  if (!written.ok()) unlink(map_path_.c_str());
  return written;
}

Status RedactCommand::Run() {
  if (json_ && quiet_) return Status::Usage("choose one of --json and --quiet");
  Result<RedactOptions> options = Options();
  if (!options.ok()) return options.status();
  const Result<TraceFiles> files = FindTraceFiles(traces_);
  if (!files.ok()) return files.status();
  if (output_path_ == "-") return Status::Usage("-o -: a trace cannot go to stdout; name a file");
  if (Status status = RefuseToOverwrite("-o", output_path_, files.value().paths); !status.ok())
    return status;
  if (!map_path_.empty() && access(map_path_.c_str(), F_OK) == 0)
    return Status::Usage(fmt::format("--map {}: this file exists; remove it, or name another",
                                     Printable(map_path_)));
  if (!map_path_.empty() && IsSamePlace(map_path_, output_path_)) {
    return Status::Usage(
        fmt::format("--map {}: the copy has this name; name another file", Printable(map_path_)));
  }
  if (Status status = CheckPlace(output_path_); !status.ok()) return status;
  const Result<PublicNames> names = PublicNames::LoadBuiltIn();
  if (!names.ok()) return names.status();
  Result<ChosenTrace> trace = OpenChosenTrace(files.value(), rank_, open_, quiet_);
  if (!trace.ok()) return trace.status();

  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  options.value().mean_the_same = [&](std::string_view a, std::string_view b, NameRole role) {
    return MeanTheSame(*reference.value(), a, b, role);
  };
  TextRedactor redactor(names.value(), std::move(options).value());
  // Adds this machine's name to the names to remove, because the trace may be from this machine.
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) redactor.LearnHost(host.data());
  ChangedColumns changed;
  Result<WrittenTrace> copy =
      PrepareTrace(*RedactedTrace(*trace.value().store, redactor, changed),
                   FormatOfName(output_path_), output_path_, open_.expansion);
  if (!copy.ok()) return copy.status();
  const std::vector<Replacement> removed = redactor.Replacements();
  const Result<RedactProof> proof = ProveCopy(*trace.value().store,
                                              {.path = copy.value().file.temporary_path(),
                                               .final_path = output_path_,
                                               .threads = open_.threads},
                                              *reference.value(), redactor);
  if (!proof.ok()) return proof.status();
  if (!map_path_.empty()) {
    if (Status status = WriteMap(removed); !status.ok()) return status;
  }
  if (Status status = copy.value().file.Commit(); !status.ok()) {
    if (!map_path_.empty()) unlink(map_path_.c_str());
    return status;
  }
  if (quiet_) return Status::Ok();
  const RedactAnswer answer = {.output = output_path_,
                               .map = map_path_,
                               .events = copy.value().events,
                               .removed = removed,
                               .changed = changed,
                               .proof = proof.value()};
  return WriteResult(
      json_ ? RenderRedactJson(answer) : RenderRedactText(answer, CharsetOfEnvironment()), "");
}

}  // namespace headroom::cli
