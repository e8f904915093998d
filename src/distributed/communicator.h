// Processes that share the work of one command, on one or several machines. Process 0, the leader,
// gathers the results and prints. The other processes print nothing.
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

  virtual int process() const = 0;    ///< Number from 0; process 0 leads.
  virtual int processes() const = 0;  ///< At least 1.
  bool leads() const { return process() == 0; }

  /// Returns the leader's text on all processes; ignores the text of the others. All processes must
  /// call it.
  virtual std::string Broadcast(std::string text) = 0;
  /// On the leader, returns the texts of all processes, indexed by process. On the others, returns
  /// an empty list. All processes must call it.
  virtual std::vector<std::string> Gather(std::string text) = 0;
};

/// A single process.
class OneProcess final : public Communicator {
 public:
  int process() const override { return 0; }
  int processes() const override { return 1; }
  std::string Broadcast(std::string text) override { return text; }
  std::vector<std::string> Gather(std::string text) override { return {std::move(text)}; }
};

/// Joins the processes that a launcher started together with this one. If there are none, returns a
/// single process. `module` is the path of libheadroom_mpi.so. Fails with kUsage if several were
/// started but cannot reach each other. If MPI finds a different number of processes than the
/// launcher started, only the first process's failure has a message. Call once.
Result<std::unique_ptr<Communicator>> JoinProcesses(const std::string& module);

}  // namespace headroom
