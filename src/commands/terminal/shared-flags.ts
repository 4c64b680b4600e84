/** What the flags mean that several commands have. */

export const jsonHelp = "print JSON";

export const yesHelp =
  "skip the confirmation, for scripts; without it, a person must confirm in a terminal";

export const projectHelp = "the project's ID or subdomain; required only if several projects exist";
