#include "distributed/shared_reading.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <chrono>
#include <exception>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/host_name.h"
#include "distributed/shares.h"

namespace headroom {

template <typename Archive>
void serialize(Archive& archive, SharedFile& file) {  // NOLINT(readability-identifier-naming)
  auto& [path, may_fail] = file;
  archive(path, may_fail);
}

namespace {

/// Location of a process: its machine and the CPUs that it may use.
struct Place {
  std::string host;
  std::string processors;  ///< One character per CPU, '1' if usable.

  bool operator==(const Place&) const = default;
  template <typename Archive>
  void serialize(Archive& archive) {  // NOLINT(readability-identifier-naming): cereal's name.
    archive(host, processors);
  }
};

/// Work of one process.
struct Assignment {
  std::vector<SharedFile> files;
  int threads = 1;

  template <typename Archive>
  void serialize(Archive& archive) {  // NOLINT(readability-identifier-naming): cereal's name.
    archive(files, threads);
  }
};

/// Result of one process.
struct Done {
  std::vector<FileResult> results;
  ProcessLog log;

  template <typename Archive>
  void save(Archive& archive) const {  // NOLINT(readability-identifier-naming): cereal's name.
    archive(PackResults(results), log.host, log.paths, log.threads, log.seconds, log.peak_bytes);
  }
  template <typename Archive>
  void load(Archive& archive) {  // NOLINT(readability-identifier-naming): cereal's name.
    std::string packed;
    archive(packed, log.host, log.paths, log.threads, log.seconds, log.peak_bytes);
    results = UnpackResults(packed);
  }
};

template <typename Value>
std::string Pack(const Value& value) {
  std::ostringstream bytes;
  cereal::BinaryOutputArchive archive(bytes);
  archive(value);
  return std::move(bytes).str();
}

/// Decodes a value from another process of the same program.
template <typename Value>
Value Unpack(const std::string& bytes) {
  std::istringstream stream(bytes);
  Value value;
  cereal::BinaryInputArchive archive(stream);
  archive(value);
  return value;
}

Place FindPlace() {
  Place place{.host = HostName(), .processors = {}};
#ifdef __linux__  // Elsewhere, processes are not bound to CPUs.
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);  // Fails and leaves the set empty on machines with more
                                            // than 1024 CPUs.
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    place.processors.push_back(CPU_ISSET(cpu, &set) ? '1' : '0');
#endif
  return place;
}

/// Returns the threads per process. Launchers bind each process to separate CPUs, or all to the
/// same ones.
int ThreadsAt(const Place& place, const std::vector<Place>& all) {
  auto processors = std::count(place.processors.begin(), place.processors.end(), '1');
  if (processors == 0) processors = std::thread::hardware_concurrency();
  return static_cast<int>(
      std::max<std::ptrdiff_t>(1, processors / std::count(all.begin(), all.end(), place)));
}

std::vector<std::int64_t> SizesOf(const std::vector<SharedFile>& files) {
  std::vector<std::int64_t> sizes;
  for (const SharedFile& file : files) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file.path, error);
    sizes.push_back(error ? 0 : static_cast<std::int64_t>(size));
  }
  return sizes;
}

Done Work(const Assignment& assignment, const FileReader& read) {
  const auto begin = std::chrono::steady_clock::now();
  Done done;
  for (const SharedFile& file : assignment.files) {
    done.log.paths.push_back(file.path);
    const Status& status = done.results.emplace_back(read(file.path, assignment.threads)).status;
    if (!status.ok() && (!file.may_fail || status.code() == StatusCode::kUsage)) break;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  done.log.host = HostName();
  done.log.threads = assignment.threads;
  done.log.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  done.log.peak_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  return done;
}

}  // namespace

SharedReading::SharedReading(Communicator& communicator, FileReader read)
    : communicator_(communicator), read_(std::move(read)) {}

SharedReading::~SharedReading() {
  if (communicator_.leads() && !done_ && std::uncaught_exceptions() == 0) {
    communicator_.Gather({});
    communicator_.Broadcast({});
  }
}

SharedResults SharedReading::Lead(const std::vector<SharedFile>& files, int threads) {
  done_ = true;
  std::vector<Place> places;
  for (const std::string& place : communicator_.Gather(Pack(FindPlace())))
    places.push_back(Unpack<Place>(place));
  const std::vector<std::vector<std::size_t>> shares =
      ShareFiles(SizesOf(files), communicator_.processes());
  std::vector<Assignment> assignments(shares.size());
  for (std::size_t p = 0; p < shares.size(); ++p) {
    assignments[p].threads = threads > 0 ? threads : ThreadsAt(places[p], places);
    for (const std::size_t file : shares[p]) assignments[p].files.push_back(files[file]);
  }
  communicator_.Broadcast(Pack(assignments));
  std::vector<Done> all;
  all.push_back(Work(assignments.front(), read_));
  const std::vector<std::string> others = communicator_.Gather({});
  for (std::size_t p = 1; p < shares.size(); ++p) all.push_back(Unpack<Done>(others[p]));
  SharedResults shared;
  shared.files.resize(files.size());
  for (std::size_t p = 0; p < shares.size(); ++p) {
    Done& done = all[p];
    for (std::size_t i = 0; i < done.results.size(); ++i)
      shared.files[shares[p][i]] = std::move(done.results[i]);
    for (std::size_t i = done.results.size(); i < shares[p].size(); ++i)
      shared.files[shares[p][i]].status = shared.files[shares[p][done.results.size() - 1]].status;
    shared.processes.push_back(std::move(done.log));
  }
  return shared;
}

void SharedReading::Follow() {
  communicator_.Gather(Pack(FindPlace()));
  const std::string plan = communicator_.Broadcast({});
  if (plan.empty()) return;
  const auto assignments = Unpack<std::vector<Assignment>>(plan);
  communicator_.Gather(
      Pack(Work(assignments[static_cast<std::size_t>(communicator_.process())], read_)));
}

}  // namespace headroom
