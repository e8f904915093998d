// Questions that follow each other faster than they are answered, as when a slider is dragged.

/** Asks one question at a time; of those that come meanwhile, the last alone is asked, so that nothing that nobody
 * waits for stands in its way. `told` gets every answer that is made. */
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

  /** The question that waits is not asked. */
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
