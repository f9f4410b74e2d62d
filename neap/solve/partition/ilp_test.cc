// SPDX-License-Identifier: Apache-2.0
//
// The optimum against an integer program that COIN-OR's cbc solves, a program of its own (Debian:
// coinor-cbc). y[v,s] is 1 if operator v is in stage s or before.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "neap/solve/partition/partition.h"
#include "testing/partition.h"

namespace neap::partition {
namespace {

std::string Name(const char* kind, std::size_t item, Stage stage) {
  return kind + std::to_string(item) + "_" + std::to_string(stage);
}

// An LP file. The cumulative y keep the program tight: an edge u -> v is y[v,s] <= y[u,s].
class LpFile {
 public:
  explicit LpFile(const Problem& problem) : problem_(problem) {}

  std::string Text() {
    for (Stage s = 0; s < problem_.num_stages; ++s) AddStage(s);
    AddEdges();
    return "Minimize\n obj: T\nSubject To\n" + rows_.str() + "Bounds\n T >= 0\n" + bounds_.str() +
           "Binary\n" + binaries_.str() + "End\n";
  }

 private:
  std::string Row() { return " r" + std::to_string(next_row_++) + ": "; }

  // sign * x[v,s], where x is y[v,s] - y[v,s-1] and y of the last stage is 1; the constant goes to
  // *right.
  std::string In(std::size_t op, Stage s, std::int64_t factor, std::int64_t* right) {
    std::string text;
    const auto term = [&](Stage stage, std::int64_t f) {
      if (stage < 0) return;
      if (stage == problem_.num_stages - 1) {
        *right -= f;
      } else {
        text +=
            (f < 0 ? " - " : " + ") + std::to_string(std::llabs(f)) + " " + Name("y", op, stage);
      }
    };
    term(s, factor);
    term(s - 1, -factor);
    return text;
  }

  void AddAtLeast(const std::string& left, std::int64_t right) {
    rows_ << Row() << left << " >= " << right << "\n";
  }

  void AddStage(Stage s) {
    const Machine& machine = problem_.machine;
    std::string cost = "T";
    std::string parameters;
    std::int64_t cost_right = 0;
    std::int64_t parameters_right = 0;
    for (std::size_t op = 0; op < problem_.compute_cost.size(); ++op) {
      if (s + 1 < problem_.num_stages) binaries_ << " " << Name("y", op, s) << "\n";
      cost += In(op, s, -problem_.compute_cost[op], &cost_right);
      parameters += In(op, s, -problem_.parameter_bytes[op], &parameters_right);
      std::int64_t right = 0;
      const std::string used = Name("u", 0, s) + In(op, s, -1, &right);
      AddAtLeast(used, right);
    }
    for (std::size_t i = 0; i < problem_.shared.size(); ++i) {
      parameters += " - " + std::to_string(problem_.shared[i].bytes) + " " + Name("h", i, s);
      for (const OpIndex user : problem_.shared[i].users) {
        std::int64_t right = 0;
        const std::string row = Name("h", i, s) + In(static_cast<std::size_t>(user), s, -1, &right);
        AddAtLeast(row, right);
      }
    }
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t) cost += Transfers(t, s);
    cost += " - " + std::to_string(machine.fixed_cost) + " " + Name("u", 0, s);
    cost += " - " + std::to_string(machine.stream_cost_per_byte) + " " + Name("e", 0, s);
    AddAtLeast(cost, cost_right);
    AddAtLeast(Name("e", 0, s) + parameters, parameters_right - machine.cache_bytes);
    if (machine.parameter_limit_bytes >= 0) {
      AddAtLeast(Name("z", 0, s) + parameters, parameters_right - machine.parameter_limit_bytes);
      bounds_ << " " << Name("z", 0, s) << " = 0\n";
    }
  }

  std::string Transfers(std::size_t t, Stage s) {
    const Tensor& tensor = problem_.tensors[t];
    const auto producer = static_cast<std::size_t>(std::max(tensor.producer, OpIndex{0}));
    const bool inside = tensor.producer != kOutside;
    for (const OpIndex consumer : tensor.consumers) {
      const auto op = static_cast<std::size_t>(consumer);
      std::int64_t right = 0;
      std::string row = Name("i", t, s) + In(op, s, -1, &right);
      if (inside) row += In(producer, s, 1, &right);
      AddAtLeast(row, right);
      if (!inside || tensor.output) continue;
      right = 0;
      row = Name("o", t, s) + In(producer, s, -1, &right);
      row += In(op, s, 1, &right);
      AddAtLeast(row, right);
    }
    if (inside && tensor.output) {
      std::int64_t right = 0;
      const std::string row = Name("o", t, s) + In(producer, s, -1, &right);
      AddAtLeast(row, right);
    }
    const std::string factor =
        " - " + std::to_string(problem_.machine.link_cost_per_byte * tensor.bytes) + " ";
    return factor + Name("i", t, s) + factor + Name("o", t, s);
  }

  void AddEdges() {
    const Relations relations(problem_);
    for (Stage s = 0; s + 1 < problem_.num_stages; ++s) {
      for (std::size_t op = 0; op < relations.before.size(); ++op) {
        for (const OpIndex before : relations.before[op]) {
          AddAtLeast(Name("y", static_cast<std::size_t>(before), s) + " - " + Name("y", op, s), 0);
        }
        if (s > 0) AddAtLeast(Name("y", op, s) + " - " + Name("y", op, s - 1), 0);
      }
      for (const auto& group : problem_.together) {
        for (const OpIndex op : group) {
          const std::string a = Name("y", static_cast<std::size_t>(op), s);
          const std::string b = Name("y", static_cast<std::size_t>(group.front()), s);
          if (a == b) continue;
          AddAtLeast(a + " - " + b, 0);
          AddAtLeast(b + " - " + a, 0);
        }
      }
    }
  }

  const Problem& problem_;
  std::ostringstream rows_;
  std::ostringstream bounds_;
  std::ostringstream binaries_;
  int next_row_ = 0;
};

// The optimum found by cbc; -1 where it reports that there is none.
std::int64_t SolvedByCbc(const Problem& problem, const std::filesystem::path& folder) {
  const auto lp = folder / "problem.lp";
  const auto solution = folder / "solution.txt";
  std::filesystem::remove(solution);
  std::ofstream(lp) << LpFile(problem).Text();
  const std::string command = "cbc '" + lp.string() +
                              "' ratioGap 0 allowableGap 0 solve solution '" + solution.string() +
                              "' >'" + (folder / "log.txt").string() + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(solution);
  std::string status;
  std::getline(file, status);
  const std::size_t at = status.find("objective value");
  if (status.rfind("Optimal", 0) != 0 || at == std::string::npos) return -1;
  return std::llround(std::stod(status.substr(at + std::string("objective value").size())));
}

TEST(Ilp, FindsTheSameOptimum) {
  if (std::system("cbc quit >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "NOT TESTED: there is no cbc here; scripts/install_packages.sh --test";
  }
  const auto folder = std::filesystem::path(testing::TempDir()) / "neap_ilp_test";
  std::filesystem::create_directories(folder);
  Random random(21);
  int impossible = 0;
  for (int i = 0; i < 60; ++i) {
    Problem problem =
        RandomProblem(&random, static_cast<OpIndex>(random.Between(2, 11)), random.Chance(1, 3));
    problem.forbidden.clear();
    const std::int64_t expected = SolvedByCbc(problem, folder);
    const auto outcome = Solve(problem, {});
    ASSERT_EQ(outcome.has_value(), expected >= 0) << i;
    if (!outcome) {
      ++impossible;
      continue;
    }
    ASSERT_EQ(outcome->best.bottleneck, expected) << i;
  }
  EXPECT_LT(impossible, 30);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace neap::partition
