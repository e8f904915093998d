#include "distributed/launch.h"

#include <gtest/gtest.h>

#include <map>

namespace headroom {
namespace {

std::optional<Launch> With(const std::map<std::string, std::string>& environment) {
  return LaunchIn([&](const char* name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(LaunchTest, WhatLaunchersSay) {
  const auto mpirun = With({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}});
  ASSERT_TRUE(mpirun);
  EXPECT_EQ(mpirun->process, 3);
  EXPECT_EQ(mpirun->processes, 8);
  const auto srun = With({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  ASSERT_TRUE(srun);
  EXPECT_EQ(srun->process, 1);
}

TEST(LaunchTest, OneProcessIsNoTeam) {
  EXPECT_FALSE(With({}));
  EXPECT_FALSE(With({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}));
  // A batch script: the job has four tasks, and the script runs once.
  EXPECT_FALSE(With({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
}

TEST(LaunchTest, NonsenseIsNoLauncher) {
  EXPECT_FALSE(With({{"PMI_RANK", "first"}, {"PMI_SIZE", "8"}}));
  EXPECT_FALSE(With({{"PMI_RANK", "0"}, {"PMI_SIZE", "8 "}}));
  EXPECT_FALSE(With({{"PMI_RANK", "-1"}, {"PMI_SIZE", "8"}}));
}

}  // namespace
}  // namespace headroom
