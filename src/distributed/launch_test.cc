#include "distributed/launch.h"

#include <gtest/gtest.h>

#include <map>

namespace headroom {
namespace launch_test {

using Variables = std::map<std::string, std::string>;

Environment Of(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

const Variables kMpirun = {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}};
const Variables kSrun = {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}};

TEST(LaunchTest, WhatLaunchersSay) {
  const auto mpirun = LaunchIn(Of(kMpirun), Of({}));
  ASSERT_TRUE(mpirun);
  EXPECT_EQ(mpirun->process, 3);
  EXPECT_EQ(mpirun->processes, 8);
  const auto srun = LaunchIn(Of(kSrun), Of({}));
  ASSERT_TRUE(srun);
  EXPECT_EQ(srun->process, 1);
}

TEST(LaunchTest, WhatAPartOfTheLaunchStartsIsNone) {
  EXPECT_FALSE(LaunchIn(Of(kMpirun), Of(kMpirun)));
  EXPECT_FALSE(LaunchIn(Of(kSrun), Of(kSrun)));
}

TEST(LaunchTest, TheInnermostLauncherHasTheWord) {
  Variables both = kSrun;
  both.insert({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}});
  EXPECT_FALSE(LaunchIn(Of(both), Of(kSrun)));
  both["OMPI_COMM_WORLD_SIZE"] = "4";
  const auto launch = LaunchIn(Of(both), Of(kSrun));
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->processes, 4);
}

TEST(LaunchTest, OneProcessHasNoCommunicator) {
  EXPECT_FALSE(LaunchIn(Of({}), Of({})));
  EXPECT_FALSE(
      LaunchIn(Of({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), Of({})));
  // A batch script: the job has four tasks, but the script runs once.
  EXPECT_FALSE(LaunchIn(Of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}), Of({})));
}

TEST(LaunchTest, NonsenseIsNoLauncher) {
  EXPECT_FALSE(LaunchIn(Of({{"PMI_RANK", "first"}, {"PMI_SIZE", "8"}}), Of({})));
  EXPECT_FALSE(LaunchIn(Of({{"PMI_RANK", "0"}, {"PMI_SIZE", "8 "}}), Of({})));
  EXPECT_FALSE(LaunchIn(Of({{"PMI_RANK", "-1"}, {"PMI_SIZE", "8"}}), Of({})));
}

}  // namespace launch_test
}  // namespace headroom
