// Which GPUs a prediction is for, as flags name them, and the files that say more of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"
#include "cli/flags/command.h"
#include "predict/gpu_models.h"

namespace headroom::cli {

class GpuChoice {
 public:
  /// --gpu, --gpu-file, --gpu-calibration and --constants.
  void AddFlags(Command command);
  /// Files that the flags name, none of which may be written over.
  std::vector<std::string> Inputs() const;
  bool is_given() const { return !gpus_.empty(); }

  /// Reads what the flags name. Before it, nothing below may be asked.
  Status Load();
  const GpuModels& models() const { return *models_; }
  /// The user's device files.
  const std::vector<NamedText>& device_files() const { return device_files_; }

  /// The GPUs that were asked for, each once, or all of which enough is known.
  ///
  /// @param quiet  does not remark on those that are left out
  Result<std::vector<DeviceRates>> Chosen(bool quiet) const;

 private:
  std::vector<std::string> gpus_;  ///< As given, "H100,L4".
  std::vector<std::string> names_, gpu_files_, calibration_paths_;
  std::string constants_path_;

  std::vector<std::string> gpu_texts_;  ///< Of the user's device files.
  std::vector<NamedText> device_files_;
  std::string constants_text_;
  std::optional<GpuModels> models_;
};

}  // namespace headroom::cli
