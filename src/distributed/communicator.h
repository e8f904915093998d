// Processes that share the work of one command, on one machine or several. One of them, the leader,
// has the word: the others hand it what they found and are silent.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace headroom {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int process() const = 0;    ///< From 0, which leads.
  virtual int processes() const = 0;  ///< At least 1.
  bool leads() const { return process() == 0; }

  /// The leader's text, on all; what others pass does not matter. To be called by all.
  virtual std::string Broadcast(std::string text) = 0;
  /// The text of each, by process, on the leader; empty on the others. To be called by all.
  virtual std::vector<std::string> Gather(std::string text) = 0;
};

/// This process alone.
class OneProcess final : public Communicator {
 public:
  int process() const override { return 0; }
  int processes() const override { return 1; }
  std::string Broadcast(std::string text) override { return text; }
  std::vector<std::string> Gather(std::string text) override { return {std::move(text)}; }
};

/// Joins the processes that a launcher started beside this one. If there are none, returns this
/// process alone.
/// `module`: path of libheadroom_mpi.so. Fails (kUsage) where several were started and do not find
/// each other, without a message where the first process has it. To be called once.
Result<std::unique_ptr<Communicator>> JoinProcesses(const std::string& module);

}  // namespace headroom
