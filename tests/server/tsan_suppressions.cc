// Debian's libabsl_status is not instrumented: ThreadSanitizer cannot see the atomic count by which
// copies of a Status share their text, and takes the last owner's delete for a race with an earlier
// reader. Linked into the pipeline's tests; without effect in other builds.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libabsl_status.so\n";
}
