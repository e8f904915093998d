// `headroom redact`: a copy of a trace that does not tell whose it is, and the proof.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/names/reference_data.h"
#include "cli/flags/subcommand.h"
#include "redact/redacted_trace.h"
#include "redact/text_redactor.h"

namespace headroom::cli {

class RedactCommand : public Subcommand {
 public:
  explicit RedactCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  /// What was shown of a copy before it got its name.
  struct Proof {
    std::int64_t bytes = 0, compared = 0;
    std::size_t texts = 0;
  };

  Result<RedactOptions> Options() const;
  Result<Proof> Prove(TraceStore& before, const std::string& copy, const ReferenceData& reference,
                      TextRedactor& redactor) const;
  Status WriteMap(const std::vector<Replacement>& removed) const;
  std::string Text(const std::vector<Replacement>& removed, const ChangedColumns& changed,
                   const Proof& proof, std::int64_t events) const;
  std::string Json(const std::vector<Replacement>& removed, const ChangedColumns& changed,
                   const Proof& proof, std::int64_t events) const;

  Command command_;
  std::vector<std::string> traces_, kinds_, words_, patterns_, keep_;
  std::string output_path_, map_path_;
  std::optional<std::int64_t> rank_;
  int threads_;
  bool json_ = false;
  bool quiet_ = false;
};

}  // namespace headroom::cli
