import type { Mutation } from "./mutation.ts";

/** What is carried out, though it is not what was shown. */

const tests = ["test/mcp/approval/between.test.ts"];

const runEndpoint = "src/mcp/tools/endpoints/run-endpoint.ts";
const runTemplate = "src/mcp/tools/templates/run-template.ts";
const sendRow = "src/bulk/apply/send-row.ts";
const linkHandlers = "src/service/handlers/links.ts";
const appHandlers = "src/service/handlers/apps.ts";
const projectHandlers = "src/service/handlers/projects.ts";
const templateHandlers = "src/service/handlers/page-templates.ts";

const templateLook = "      requireShownTemplate(call.precondition, await readTemplate(tenant));\n";

/** The file, what goes wrong, and what stands there right and wrong. */
const rows: readonly (readonly [string, string, string, string])[] = [
  [
    runEndpoint,
    "elsewhere, a target is not read once more after the yes",
    "    await requireActShown(act, call);\n",
    "",
  ],
  [
    runTemplate,
    "elsewhere, a template is not read once more after the yes",
    "readNow: () => readState(call)",
    "readNow: () => Promise.resolve(state)",
  ],
  [
    runEndpoint,
    "an act is sent without its condition",
    "    condition: describeCondition(act),\n",
    "",
  ],
  [
    runTemplate,
    "a template's act is sent without its condition",
    "    condition: describeCondition(state),\n",
    "",
  ],
  [
    "src/mcp/tools/history/journal-write.ts",
    "what is noted in the history is sent without its condition",
    "ask(endpoint, input, known.condition)",
    "ask(endpoint, input)",
  ],
  [
    sendRow,
    "a plan's row that creates is sent without its condition",
    `path: row.path ?? "" }, signal, options);`,
    `path: row.path ?? "" }, signal);`,
  ],
  [
    sendRow,
    "a plan's row that deletes is sent without its condition",
    "call(links.destroy, { id }, signal, options)",
    "call(links.destroy, { id }, signal)",
  ],
  [
    sendRow,
    "a plan's row that updates is sent without its condition",
    "call(links.update, { ...fields, id }, signal, options)",
    "call(links.update, { ...fields, id }, signal)",
  ],
  [
    linkHandlers,
    "an upsert's condition is not looked at",
    "      requireCondition(call.precondition, ...(isThere ? [known] : []));\n",
    "",
  ],
  [
    linkHandlers,
    "the condition of a link's update is not looked at",
    "      requireCondition(call.precondition, before);\n      return changeLink",
    "      return changeLink",
  ],
  [
    linkHandlers,
    "the condition of a link's deletion is not looked at",
    "      requireCondition(call.precondition, before);\n      await deleteLink",
    "      await deleteLink",
  ],
  [
    appHandlers,
    "the condition of an app's update is not looked at",
    "        requireCondition(call.precondition, before);\n        const",
    "        const",
  ],
  [
    appHandlers,
    "the condition of an app's deletion is not looked at",
    "    requireCondition(call.precondition, before);\n    return apps.remove",
    "    return apps.remove",
  ],
  [
    projectHandlers,
    "the condition of a project's update is not looked at",
    "      requireCondition(precondition, present(before));\n",
    "",
  ],
  [
    projectHandlers,
    "the condition of a project's deletion is not looked at",
    "      requireCondition(precondition, present(await find(db, params.id)));\n",
    "",
  ],
  [
    "src/service/write-template.ts",
    "the condition of a publication is not looked at",
    "      requireShownTemplate(call.precondition, before);\n",
    "",
  ],
  [
    templateHandlers,
    "the condition of taking the page down is not looked at",
    `${templateLook}      await setLive`,
    "      await setLive",
  ],
  [
    templateHandlers,
    "the condition of a version's restoration is not looked at",
    `${templateLook}      await saveDraft`,
    "      await saveDraft",
  ],
  [
    "src/mcp/tools/history/undo.ts",
    "elsewhere, what an undo acts on is not read once more after the yes",
    "readNow: async () => describeUndoState(await plan(change, history, call)),",
    "readNow: () => Promise.resolve(describeUndoState(planned)),",
  ],
];

export const between: readonly Mutation[] = rows.map(([file, what, find, replace], index) => ({
  id: `M${index + 1}`,
  file,
  what,
  find,
  replace,
  tests,
}));
