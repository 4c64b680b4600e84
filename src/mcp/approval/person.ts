import type { Asker, Question } from "./question.ts";

/** What one call knows of the person: whether they can be asked, and what they answered. */
export type Person = Asker & {
  /** Whether the client says that it can show a form. */
  readonly canAnswer: boolean;
  /** Whether the client says that it can open an address. */
  readonly canOpen: boolean;
  /** What came back with a repeated call. */
  readonly answer: Answer | undefined;
  /** The approval whose page was answered while this call waited for it. */
  readonly waited: string | undefined;
};

/** Where nobody can be asked, and nobody has to be. */
export const nobodyToAsk = {
  canAnswer: false,
  canOpen: false,
  answer: undefined,
  waited: undefined,
} as const satisfies Person;

export type Answer = {
  /** The approval's id, which went out with the question. */
  readonly token: string;
  /**
   * Yes comes from a form alone. To have opened the page says nothing of what was pressed there,
   * and where nothing was said no person has seen the question.
   */
  readonly said: "yes" | "no" | "unticked" | "opened" | "nothing";
  /** The number that the person typed, where one was asked for. */
  readonly count?: number | undefined;
};

type Waiting = {
  /** The approval, by which its answer is known: nobody can guess it. */
  readonly id: string;
  readonly question: Question;
  /** Where the page asks, and not a form; whether this call brought word that it is open. */
  readonly page?: { readonly url: string; readonly isOpened: boolean };
};

/** Thrown to leave a tool before anything was done: the client is to ask its person first. */
export class PersonAsked extends Error {
  override readonly name = "PersonAsked";
  readonly waiting: Waiting;

  constructor(waiting: Waiting) {
    super(waiting.question.title);
    this.waiting = waiting;
  }
}
