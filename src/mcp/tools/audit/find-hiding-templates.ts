import type { Group } from "../../../audit/describe-groups.ts";
import { contract } from "../../../contract/index.ts";
import type { TemplateProblem } from "../../../template/page-input.ts";
import { describeHiding, findHiding } from "../templates/find-hiding.ts";
import { isText, readState, type ReadText } from "../templates/template-state.ts";
import type { Call } from "../tool.ts";
import type { Looked } from "./find-never-clicked.ts";

/** Texts of the links' page that hide the buttons by which visitors go on. */

const { pageTemplate } = contract;
const mostTold = 3;

/** The page that visitors meet comes first. */
export async function findHidingTemplates(call: Call): Promise<Looked> {
  const mayRead = call.keyContext.access.read(pageTemplate.versions).state !== "denied";
  const { live, draft } = mayRead ? await readState(call) : { live: undefined, draft: undefined };
  const isSame = live && draft && live.body === draft.body && live.css === draft.css;
  const texts: readonly Named[] = [
    { name: "live page", id: live?.id ?? "live", text: live },
    { name: "draft of the page", id: "draft", text: isSame ? null : draft },
  ];
  const looked = await Promise.all(texts.map(lookAt));
  return {
    groups: looked.flatMap(({ group }) => group ?? []),
    notChecked: looked.flatMap(({ notChecked }) => notChecked ?? []),
  };
}

type Named = {
  readonly name: string;
  readonly id: string;
  /** Null where there is none, undefined where nobody knows. */
  readonly text: ReadText | null | undefined;
};

async function lookAt({ name, id, text }: Named) {
  if (text === null) return {};
  if (text === undefined || !isText(text)) {
    return { notChecked: `The ${name}: this key may not read it, or it is not shown.` };
  }
  const problems = await findHiding(text);
  return problems.length === 0 ? {} : { group: describe(name, id, problems) };
}

function describe(name: string, id: string, problems: readonly TemplateProblem[]): Group {
  const told = problems.slice(0, mostTold).map(describeHiding);
  const what = `The ${name} hides buttons by which visitors go on.`;
  const message = [what, ...told, "Ask whether it should."].join(" ");
  return { code: "hides_buttons", count: 1, message, ids: [id] };
}
