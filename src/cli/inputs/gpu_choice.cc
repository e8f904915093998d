#include "cli/inputs/gpu_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/read_file.h"
#include "cli/flags/value_checks.h"
#include "cli/terminal/output.h"

namespace headroom::cli {

void GpuChoice::AddFlags(Command command) {
  command.AddOption("--gpu", gpus_, "GPUs to predict for, or all")
      .TypeName("GPU,...")
      .Check(NameList());  // The parser's own delimiter would drop empty names.
  command.AddOption("--gpu-file", gpu_files_, "More device files, such as data/devices/*.toml")
      .TypeName("FILE");
  command
      .AddOption("--gpu-calibration", calibration_paths_,
                 "Operators measured on GPUs to predict for (headroom calibrate --gpu)")
      .TypeName("FILE");
  command
      .AddOption("--constants", constants_path_,
                 "Constants of the kernel models instead of the built-in ones")
      .TypeName("FILE");
}

std::vector<std::string> GpuChoice::Inputs() const {
  std::vector<std::string> paths = gpu_files_;
  paths.insert(paths.end(), calibration_paths_.begin(), calibration_paths_.end());
  if (!constants_path_.empty()) paths.push_back(constants_path_);
  return paths;
}

Status GpuChoice::Load() {
  names_.clear();
  const bool all = gpus_ == std::vector<std::string>{"all"};
  for (const std::string& list : all ? std::vector<std::string>() : gpus_) {
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      names_.push_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  gpu_texts_.reserve(gpu_files_.size());  // The models keep views of names and texts, so these must
                                          // not move.
  for (const std::string& path : gpu_files_) {
    Result<std::string> text = ReadRequiredFile("--gpu-file", path);
    if (!text.ok()) return text.status();
    gpu_texts_.push_back(std::move(text).value());
    device_files_.push_back({path, gpu_texts_.back()});
  }
  std::optional<NamedText> constants;
  if (!constants_path_.empty()) {
    Result<std::string> text = ReadRequiredFile("--constants", constants_path_);
    if (!text.ok()) return text.status();
    constants_text_ = std::move(text).value();
    constants = {constants_path_, constants_text_};
  }
  Result<GpuModels> models = GpuModels::Load(device_files_, constants);
  if (!models.ok()) return models.status();
  models_ = std::move(models).value();
  for (const std::string& path : calibration_paths_) {
    if (Status status = models_->AddCalibration(path); !status.ok()) return status;
  }
  return Status::Ok();
}

Result<std::vector<DeviceRates>> GpuChoice::Chosen(bool quiet) const {
  if (!names_.empty()) return models_->AllNamed(names_);
  std::vector<std::string> left_out;
  std::vector<DeviceRates> all = models_->All(&left_out);
  if (!quiet) {
    for (const std::string& why : left_out) Remark(fmt::format("left out: {}\n", why));
  }
  return all;
}

}  // namespace headroom::cli
