-- A store as version 2 of the tables kept it, dumped from a file that the code of that version made.
BEGIN TRANSACTION;
CREATE TABLE erased (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    checksum BLOB NOT NULL
) STRICT;
INSERT INTO erased VALUES(9,'gone',X'7C4BFF7DEEE41C3CF5CF141595ACD538');
CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    sequence INTEGER NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    scope TEXT NOT NULL,
    title TEXT,
    text TEXT NOT NULL,
    tags TEXT NOT NULL,
    context TEXT NOT NULL,
    conversation_id TEXT,
    speaker TEXT,
    origin TEXT NOT NULL,
    happened_at INTEGER NOT NULL,
    stored_at INTEGER NOT NULL,
    valid_from INTEGER,
    valid_to INTEGER,
    "key" TEXT,
    important INTEGER NOT NULL,
    sources TEXT NOT NULL,
    attachments TEXT NOT NULL,
    embedded_by TEXT,
    checksum BLOB NOT NULL
) STRICT;
INSERT INTO memories VALUES(1,'a',1,1,'note','current','s','Title','text of a','["Tag","ünï"]','{"n":[1,null]}','talk','Alice','user',1780662615123456,1780662615123456,NULL,NULL,'k',0,'[]','[]','model-a',X'DF4C7FAC73793A018AD4873BEDD4F73C');
INSERT INTO memories VALUES(2,'b',2,4,'fact','current','Global',NULL,'another text, revised','[]','{}',NULL,NULL,'user',1780662615123456,1780662615123456,NULL,NULL,NULL,0,'[]','[]','model-b',X'B2575BB4CC9CFF0ABCECC95E93DE423F');
INSERT INTO memories VALUES(3,'waits',1,5,'note','current','Global',NULL,'text of waits','[]','{}',NULL,NULL,'user',1780662615123456,1780662615123456,NULL,NULL,NULL,0,'[]','[]',NULL,X'7C31B8E3FE0A8B82D4F05D567627EE43');
INSERT INTO memories VALUES(5,'hidden',2,8,'note','forgotten','Global',NULL,'text of hidden','[]','{}',NULL,NULL,'user',1780662615123456,1780662615123456,NULL,NULL,NULL,0,'[]','[]','model-a',X'EBA687BD5608382DFE405AC56A319475');
CREATE INDEX memories_by_conversation ON memories (conversation_id, happened_at, id)
    WHERE conversation_id IS NOT NULL;
CREATE INDEX memories_by_embedding ON memories (embedded_by, status = 'forgotten', sequence);
CREATE INDEX memories_by_key ON memories ("key") WHERE "key" IS NOT NULL;
CREATE INDEX memories_by_kind ON memories (kind, happened_at, id);
CREATE INDEX memories_by_scope ON memories (scope, happened_at, id, kind, status);
CREATE INDEX memories_by_time ON memories (happened_at, id);
CREATE TABLE memory_tags (
    folded TEXT NOT NULL,
    happened_at INTEGER NOT NULL,
    id TEXT NOT NULL,
    number INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE,
    PRIMARY KEY (folded, happened_at, id)
) STRICT, WITHOUT ROWID;
INSERT INTO memory_tags VALUES('tag',1780662615123456,'a',1);
INSERT INTO memory_tags VALUES('ünï',1780662615123456,'a',1);
CREATE INDEX memory_tags_by_memory ON memory_tags (number);
CREATE TABLE revisions (
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body TEXT NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (id, revision)
) STRICT;
INSERT INTO revisions VALUES('b',1,'{"id":"b","text":"another text","kind":"fact","title":null,"scope":"Global","tags":[],"context":{},"conversation_id":null,"speaker":null,"origin":"user","happened_at":"2026-06-05T12:30:15.123456Z","stored_at":"2026-06-05T12:30:15.123456Z","valid_from":null,"valid_to":null,"key":null,"status":"current","important":false,"sources":[],"attachments":[],"revision":1}',X'FB192492E914307F92D4793F31694B2A');
INSERT INTO revisions VALUES('hidden',1,'{"id":"hidden","text":"text of hidden","kind":"note","title":null,"scope":"Global","tags":[],"context":{},"conversation_id":null,"speaker":null,"origin":"user","happened_at":"2026-06-05T12:30:15.123456Z","stored_at":"2026-06-05T12:30:15.123456Z","valid_from":null,"valid_to":null,"key":null,"status":"current","important":false,"sources":[],"attachments":[],"revision":1}',X'E98100F8D326926652230E8BEB021227');
CREATE TABLE scopes (
    name TEXT PRIMARY KEY NOT NULL,
    description TEXT NOT NULL,
    parent TEXT,
    keywords TEXT NOT NULL,
    active INTEGER NOT NULL,
    sensitivity TEXT NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
INSERT INTO scopes VALUES('s','a scope',NULL,'[]',1,'normal',X'75B40D1B48264F0F95DCDFEFB2895823');
CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    identity TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    token BLOB NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
INSERT INTO store VALUES(1,'7a6a3551-54c9-4c5b-a16a-c0377bdd390d',9,X'CED2B35ADFEF56A5C2A85D31C6648FBB',X'9B04A3C1015BC7F1F5A6CA62DD3D7047');
CREATE TABLE vectors (
    number INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE,
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    spans BLOB NOT NULL,
    vectors BLOB NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (number, model)
) STRICT;
INSERT INTO vectors VALUES(1,'model-a',8,X'D9010000FF010000F3020000B6030000',X'0C2FA93EDBCDA6BF67C5673F358BE43EC47509BF28C4143F3CA9BA3E8998963EC3D5E83C62F50B3F41883CBFDED126BE58D8F6BEFC4D193FA6B3223DE4BC95BE',X'089DD3B01672ABBD03581205A2D69870');
INSERT INTO vectors VALUES(2,'model-b',8,X'45030000050100006D0000002A010000',X'117DD3BE00411CC0D05CE63F0774923FD29DA6BE3018463FD8FA8F3E55C70DBFDC417A3F45019FBE9B5BA8BE21CA4ABF44F0E83E5928CBBD0B980B3F86701BBF',X'FA791B81B254C59C10E92CDA1195F274');
INSERT INTO vectors VALUES(5,'model-a',8,X'2B03000055000000',X'049023C00D11D63E595911BFA6C1E7BE81C55CBE744701C0AE7F6DBE9B7E5DBF',X'71B5865385D313665EB4B8EACD04CD0D');
pragma user_version=2;
pragma application_id=1229866573;
COMMIT TRANSACTION;
