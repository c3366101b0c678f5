#pragma once

namespace fb {

// Whether a derivative that would go one way or another by values may not guess, on this thread, where there are none: it
// raises NotImplementedError. Code is then made only where it computes what eager does.
extern thread_local bool no_guesses;

}  // namespace fb
