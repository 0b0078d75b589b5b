/* A program, which no loader should take for a library. */
int main(void) { return 0; }
