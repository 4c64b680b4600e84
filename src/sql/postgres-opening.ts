import { readCode } from "./postgres-faults.ts";
import { quoteName } from "./postgres-rights.ts";

/** Why a server lets nobody in, and what to do about it: in its own words, and then in ours. */
export function explainOpening(error: unknown, url: string): string {
  if (!(error instanceof Error)) return "unknown fault";
  if (error.message.includes("client password must be")) return noPassword;
  const advice = advices[readCode(error)]?.(readNames(url));
  return advice === undefined ? error.message : `${error.message}. ${advice}`;
}

const noPassword =
  "it asks for a password, and its address has none; write it into the address, best in the file " +
  "that WAYPOST_DATABASE_URL_FILE names, or into PGPASSWORD";

type Names = { readonly role: string; readonly database: string };

const administrator = "Have an administrator run:";

const advices: Readonly<Record<string, (names: Names) => string>> = {
  "42501": ({ role, database }) =>
    `${administrator} GRANT CONNECT ON DATABASE ${database} TO ${role}`,
  "3D000": ({ role, database }) => `${administrator} CREATE DATABASE ${database} OWNER ${role}`,
};

/** The driver takes both from elsewhere where the address leaves them out. */
function readNames(url: string): Names {
  const { username, pathname } = new URL(url);
  return {
    role: username === "" ? "the role" : quoteName(decodeURIComponent(username)),
    database: quoteName(decodeURIComponent(pathname.slice(1))),
  };
}
