import type { Asker, Question } from "./question.ts";

/** What one call knows of the person: whether they can be asked, and what they answered. */
export type Person = Asker & {
  /** Whether the client says that it can show a form. */
  readonly canAnswer: boolean;
  /** Whether the client says that it can open an address. */
  readonly canOpen: boolean;
  /** The answer that came with a repeated call. */
  readonly answer: PersonAnswer | undefined;
  /** The approval whose page was answered while this call waited for it. */
  readonly waited: string | undefined;
};

/** For a call whose client can neither show a form nor open a page. */
export const nobodyToAsk = {
  canAnswer: false,
  canOpen: false,
  answer: undefined,
  waited: undefined,
} as const satisfies Person;

export type PersonAnswer = {
  /** The approval's id, which was sent with the question. */
  readonly token: string;
  /**
   * Only a form can say yes. `opened` does not show which button was pressed on the page, and
   * `nothing` means that no person saw the question.
   */
  readonly said: "yes" | "no" | "unticked" | "opened" | "nothing";
  /** The number that the person typed, if one was required. */
  readonly count?: number | undefined;
};

type WaitingQuestion = {
  /** The approval's id, which identifies the answer and cannot be guessed. */
  readonly id: string;
  readonly question: Question;
  /** Set when the page asks instead of a form; and whether this call reported that it is open. */
  readonly page?: { readonly url: string; readonly isOpened: boolean };
};

/** Thrown to leave a tool before it does anything, because the client must ask the person first. */
export class PersonAsked extends Error {
  override readonly name = "PersonAsked";
  readonly waiting: WaitingQuestion;

  constructor(waiting: WaitingQuestion) {
    super(waiting.question.title);
    this.waiting = waiting;
  }
}
