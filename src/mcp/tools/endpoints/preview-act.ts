import type { JsonObject } from "../../../contract/json.ts";
import type { Fact, Preview } from "../../approval/approval-request.ts";
import { describeAssociation } from "../../approval/describe-association.ts";
import type { Call } from "../tool.ts";
import type { Act } from "./prepare-act.ts";
import { previewRegistration } from "./preview-app.ts";
import { previewChange, previewCreation, previewDeletion } from "./preview-change.ts";

/** What a person reads before they approve of an act, whichever kind it is. */
export async function previewAct(
  act: Act,
  call: Pick<Call, "ask" | "keyContext" | "apps">,
): Promise<Preview> {
  const { endpoint, kind, target, changes, registered, touched } = act;
  const [first] = registered;
  if (target.state === "absent" && first?.kind === kind) return previewRegistration(first);
  const brought = registered.map(previewRegistration);
  if (target.state === "absent") {
    return addApps(await previewCreation(kind, changes, call), brought);
  }
  const record = target.state === "known" ? target.record : {};
  const subject = { kind, id: target.id, record };
  if (endpoint.effect === "destroy") {
    return addFacts(
      await previewDeletion(subject, call, touched),
      describeAssociation(kind, record, undefined),
    );
  }
  const after: JsonObject = { ...record, ...changes };
  const preview = await previewChange(subject, changes, call);
  return addApps(addFacts(preview, describeAssociation(kind, record, after)), brought);
}

/** What the whole domain hangs on stands first. */
function addFacts(preview: Preview, facts: readonly Fact[]): Preview {
  return { ...preview, facts: [...facts, ...preview.facts] };
}

/** A link that brings apps along is one act with them. */
function addApps(preview: Preview, brought: readonly Preview[]): Preview {
  const [title, ...more] = [...brought, preview].map((each) => each.title);
  const rest = more.map((text) => text.charAt(0).toLowerCase() + text.slice(1));
  const facts = brought.flatMap((each) => each.facts);
  const whole = { ...addFacts(preview, facts), title: [title, ...rest].join(", and ") };
  if (brought.length === 0) return whole;
  const apps = brought.length === 1 ? "app" : `${brought.length} apps`;
  return { ...whole, button: `${preview.button} and register ${apps}` };
}
