// The GPUs to predict for, chosen by flags, and the files that add data on those GPUs.
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
  /// Adds --gpu, --gpu-file, --gpu-calibration and --constants.
  void AddFlags(Command command);
  /// Returns the files that the flags name. No output may overwrite them.
  std::vector<std::string> Inputs() const;
  bool is_given() const { return !gpus_.empty(); }

  /// Reads the files that the flags name. Must precede calls of the functions below.
  Status Load();
  const GpuModels& models() const { return *models_; }
  /// The user's device files.
  const std::vector<NamedText>& device_files() const { return device_files_; }

  /// Returns each requested GPU once. Without a request, returns all GPUs with enough data.
  ///
  /// @param quiet  true prints no remark on GPUs that are left out
  Result<std::vector<DeviceRates>> Chosen(bool quiet) const;

 private:
  std::vector<std::string> gpus_;  ///< As given, "H100,L4".
  std::vector<std::string> names_, gpu_files_, calibration_paths_;
  std::string constants_path_;

  std::vector<std::string> gpu_texts_;  ///< Texts of the user's device files.
  std::vector<NamedText> device_files_;
  std::string constants_text_;
  std::optional<GpuModels> models_;
};

}  // namespace headroom::cli
