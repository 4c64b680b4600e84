import { readCode } from "./postgres-faults.ts";
import { quoteName } from "./postgres-rights.ts";

/** Why a server lets nobody in, and what to do about it: in its own words, and then in ours. */
export function explainOpening(error: unknown, url: string): string {
  if (!(error instanceof Error)) return "unknown fault";
  if (error.message.includes("client password must be")) return noPassword;
  if (error.message === noTls) return `${error.message}. ${turnTlsOn}`;
  const advice = advices[readCode(error)]?.(readNames(url));
  return advice === undefined ? error.message : `${error.message}. ${advice}`;
}

const noPassword =
  "it asks for a password, and its address has none; write it into the address, best in the file " +
  "that WAYPOST_DATABASE_URL_FILE names, or into PGPASSWORD";

type Names = { readonly role: string; readonly database: string };

/** The driver's own words, without a code. */
const noTls = "The server does not support SSL connections";
const turnTlsOn =
  "Have an administrator turn TLS on there (ssl = on), or leave sslmode out of the address where " +
  "the way to it is safe";

const nameRoot = () =>
  "Write sslmode=verify-full&sslrootcert=FILE into the address, with the file of the certificate " +
  "that vouches for the server's (its provider gives it out)";
const nameHost = () =>
  "Name the server in the address as its certificate does, or have an administrator give it a " +
  "certificate for that name";
const checkLogin = () =>
  "Look at the user and the password in the address, and at the server's pg_hba.conf; a server " +
  "that wants TLS needs sslmode=verify-full in the address";

const administrator = "Have an administrator run:";

const advices: Readonly<Record<string, (names: Names) => string>> = {
  "42501": ({ role, database }) =>
    `${administrator} GRANT CONNECT ON DATABASE ${database} TO ${role}`,
  "28000": checkLogin,
  "28P01": checkLogin,
  DEPTH_ZERO_SELF_SIGNED_CERT: nameRoot,
  SELF_SIGNED_CERT_IN_CHAIN: nameRoot,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: nameRoot,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: nameRoot,
  ERR_TLS_CERT_ALTNAME_INVALID: nameHost,
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
