// Limits requests that arrive faster than the server answers, such as those of a slider.

/**
 * Sends one request at a time. Of the requests that arrive meanwhile, it sends only the last, so outdated requests
 * never delay the newest one. `told` receives every answer.
 */
export class Latest<Question, Answer> {
  private busy = false;
  private next: { question: Question } | null = null;

  constructor(
    private readonly ask: (question: Question) => Promise<Answer>,
    private readonly told: (question: Question, answer: Answer | null, error: string) => void,
  ) {}

  request(question: Question): void {
    this.next = { question };
    if (!this.busy) void this.run();
  }

  /** Drops the waiting request. */
  drop(): void {
    this.next = null;
  }

  private async run(): Promise<void> {
    this.busy = true;
    while (this.next !== null) {
      const { question } = this.next;
      this.next = null;
      try {
        this.told(question, await this.ask(question), "");
      } catch (failure) {
        this.told(question, null, failure instanceof Error ? failure.message : String(failure));
      }
    }
    this.busy = false;
  }
}
