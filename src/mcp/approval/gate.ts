import type { Clock } from "../../contract/world.ts";
import type { State } from "../../state/state.ts";
import { advise } from "../advice.ts";
import { ToolFailure, type Failure } from "../failure.ts";
import { digestAct, writePreview, type Act } from "./act.ts";
import type { Mode } from "../mode.ts";
import { PersonAsked, type Person } from "./person.ts";
import { seal, unseal, type Sealed } from "./seal.ts";

/** Lets an act through once a person has approved of it (design.md, "Approval"). */
export type Gate = {
  readonly pass: (act: Act, keyPrint: string, person: Person) => Promise<void>;
};

type GateOptions = {
  readonly mode: Mode;
  /** Opened by the first approval: most sessions destroy nothing. */
  readonly openState: () => Promise<State>;
  /** The address of an approval's page, which is open from now on. */
  readonly openPage: (id: string) => Promise<string>;
  readonly clock: Clock;
};

const secretName = "approvals";

export function createGate({ mode, openState, openPage, clock }: GateOptions): Gate {
  return {
    pass: async (act, keyPrint, person) => {
      if (mode === "full") return;
      const digest = digestAct(act, keyPrint);
      if (mode === "two-step") return passToken(act, digest, person);
      if (person.answer !== undefined) return passAnswer(act, digest, person.answer);
      if (person.canAnswer) throw await askClient(act, digest);
      return passPage(act, digest);
    },
  };

  /** The same call with the token goes through. */
  async function passToken(act: Act, digest: string, { token }: Person): Promise<void> {
    const sealed = token === undefined ? undefined : await open(token);
    if (sealed?.digest === digest && (await take(sealed))) return;
    const fresh = await issue(act, digest);
    throw required(act, fresh.expires_at, { token: fresh.text }, describeStale(token, sealed));
  }

  /** The client's form came back. */
  async function passAnswer(
    act: Act,
    digest: string,
    { state, isYes }: NonNullable<Person["answer"]>,
  ): Promise<void> {
    const sealed = state === undefined ? undefined : await open(state);
    if (sealed === undefined) throw declined("The answer does not belong to a question of ours.");
    if (!isYes) {
      await take(sealed);
      throw declined("The user did not approve.");
    }
    // The target changed, or the question grew old, while the person thought about it.
    const isStale = sealed.digest !== digest || sealed.expires_at <= clock.now();
    if (isStale) throw await askClient(act, digest);
    if (!(await take(sealed))) throw declined("This approval was used already.");
  }

  async function passPage(act: Act, digest: string): Promise<void> {
    const { approvals } = await openState();
    const asked = await approvals.askPage({ digest, preview: JSON.stringify(act.preview) });
    if ("waits" in asked) {
      const { id, expires_at } = asked.waits;
      throw required(act, expires_at, { url: await openPage(id) });
    }
    if (asked.said === "declined") throw declined("The user declined this on the approval page.");
  }

  async function askClient(act: Act, digest: string): Promise<PersonAsked> {
    const { text } = await issue(act, digest);
    return new PersonAsked(`${writePreview(act.preview)}\n\nDo you approve?`, text);
  }

  async function issue(act: Act, digest: string) {
    const { approvals, readSecret } = await openState();
    const { id, expires_at } = await approvals.openSealed({
      digest,
      preview: JSON.stringify(act.preview),
    });
    return { text: seal({ id, digest, expires_at }, await readSecret(secretName)), expires_at };
  }

  async function open(text: string): Promise<Sealed | undefined> {
    const { readSecret } = await openState();
    return unseal(text, await readSecret(secretName));
  }

  /** True for one taker only, however many come at once. */
  async function take({ id, digest }: Sealed): Promise<boolean> {
    const { approvals } = await openState();
    return approvals.takeSealed(id, digest);
  }
}

function describeStale(token: string | undefined, sealed: Sealed | undefined): string {
  if (token === undefined) return "This needs a second call with the approval token.";
  if (sealed === undefined) return "The approval token is none of ours.";
  return "The approval token was used, grew old, or was given for another act or target.";
}

function required(
  act: Act,
  expires_at: number,
  way: { readonly url: string } | { readonly token: string },
  message = "A person has to approve this first.",
): ToolFailure {
  const failure: Failure = {
    code: "approval_required",
    message,
    effect: "none",
    retry: "url" in way ? "later" : "now",
    approval: {
      preview: writePreview(act.preview),
      ...way,
      expires_at: new Date(expires_at).toISOString(),
    },
    next: "url" in way ? advisePage(act.tool) : adviseToken(act.tool),
  };
  return new ToolFailure(failure);
}

function advisePage(tool: string): string {
  return `Give the user approval.url to open in a browser; when they have approved, call ${tool} again with the same arguments.`;
}

function adviseToken(tool: string): string {
  return `Tell the user what approval.preview says; if they agree, call ${tool} again with the same arguments and approval set to approval.token.`;
}

function declined(message: string): ToolFailure {
  const code = "approval_declined";
  const next = advise(code, { tool: "" });
  return new ToolFailure({ code, message, effect: "none", retry: "never", next });
}
