import type { Asker, Question } from "./question.ts";

/** How a call can reach a person, and what they answered. */
export type Person = Asker & {
  /** Whether the client declares that it can show a form. */
  readonly canAnswer: boolean;
  /** Whether the client declares that it can open a URL. */
  readonly canOpen: boolean;
  /** The person's answer, which a repeated call contains. */
  readonly answer: PersonAnswer | undefined;
  /** The approval that was decided on its page while this call waited. */
  readonly waited: string | undefined;
};

/** For a call whose client can neither show a form nor open a page. */
export const noPerson = {
  canAnswer: false,
  canOpen: false,
  answer: undefined,
  waited: undefined,
} as const satisfies Person;

export type PersonAnswer = {
  /** The approval's id, which was sent with the question. */
  readonly token: string;
  /**
   * Only a form can approve directly. `opened` means that the page was opened, with an unknown
   * decision. `nothing` means that no person saw the question.
   */
  readonly said: "yes" | "no" | "unticked" | "opened" | "nothing";
  /** The typed number, if the question requires one. */
  readonly count?: number | undefined;
};

type WaitingQuestion = {
  /** The approval's id. It cannot be guessed, so it authenticates the answer. */
  readonly id: string;
  readonly question: Question;
  /**
   * Set if the page asks instead of a form. `isOpened` is whether this call reported the page as
   * open.
   */
  readonly page?: { readonly url: string; readonly isOpened: boolean };
};

/** Thrown before a tool changes anything, because the client must ask the person first. */
export class PendingQuestion extends Error {
  override readonly name = "PendingQuestion";
  readonly waiting: WaitingQuestion;

  constructor(waiting: WaitingQuestion) {
    super(waiting.question.title);
    this.waiting = waiting;
  }
}
