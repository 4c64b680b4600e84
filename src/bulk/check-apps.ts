import { uuidPattern } from "../contract/fields.ts";
import type { LinkFields } from "../contract/links.ts";
import type { FieldProblem } from "../contract/problem.ts";
import { checkAndroidApp, checkIosApp } from "../contract/rules/app-rules.ts";
import { isBlank } from "../contract/text.ts";

/**
 * What is given of an app is checked by the app's own rules. What is left out is not missed: the
 * app may be registered already.
 */
export function checkApps({ ios_app, android_app }: LinkFields): readonly FieldProblem[] {
  return [
    ...(ios_app ? findFaults("ios_app", ios_app, checkIosApp(ios_app).problems) : []),
    ...(android_app
      ? findFaults("android_app", android_app, checkAndroidApp(android_app).problems)
      : []),
  ];
}

function findFaults(
  app: "ios_app" | "android_app",
  given: NonNullable<LinkFields["ios_app"] | LinkFields["android_app"]>,
  problems: readonly FieldProblem[],
): readonly FieldProblem[] {
  const sent = Object.entries(given).filter(([, value]) => !isBlank(value));
  const isSent = (field: string) => sent.some(([name]) => name === field);
  const faults = problems
    .filter(({ field }) => isSent(field))
    .map(({ field, message }) => ({ field: `${app}.${field}`, message }));
  const isIdFaulty =
    typeof given.id === "string" && !isBlank(given.id) && !uuidPattern.test(given.id);
  if (isIdFaulty) faults.push({ field: `${app}.id`, message: `The id of ${app} is not a UUID` });
  return faults;
}
