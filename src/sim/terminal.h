/// The terminal while a full-screen program runs: alternate screen, no cursor, no echo; all is
/// restored when it ends, whatever the reason. Thread rule: owned by one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/demo_screen.h"

namespace tessera::sim {

class Terminal {
 public:
  /// Standard output is a terminal that understands more than plain lines.
  static bool available();
  /// False when NO_COLOR is set.
  static bool colour();

  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  ScreenSize size() const;
  void draw(const std::vector<std::string>& rows);
  bool key_pressed(char key);  ///< since the last call; other keys are swallowed

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace tessera::sim
