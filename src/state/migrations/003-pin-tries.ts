import { runStatements, type Migration } from "../../sql/migrate.ts";

/** Who asked for an approval, and the PIN that belongs to it: both count in every process alike. */
export const pinTries: Migration = {
  name: "003-pin-tries",
  up: (db) => runStatements(db, statements),
};

const statements = [
  `alter table approvals add column key_print text not null default ''`,
  `alter table approvals add column pin text`,
  `alter table pin_tries add column key_print text not null default ''`,
  `create index pin_tries_by_key on pin_tries (key_print, at)`,
];
