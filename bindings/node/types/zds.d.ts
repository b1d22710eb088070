// @generated from lib/zds.js by scripts/node types
declare namespace _exports {
    export { StoreInfo, RootInfo };
}
declare namespace _exports {
    export { BulkWriter };
    export { ZdsRoot };
    export { ZdsStore };
    export function version(): string;
}
export = _exports;
type StoreInfo = {
    root: string;
    collection: string;
    count: number;
};
type RootInfo = {
    root: string;
    batchSize: number;
    mode: "r" | "rw";
    isWritable: boolean;
    collections: string[];
};
/** Writes many documents, a batch at a time. */
declare class BulkWriter {
    /**
     * A writer of a collection, which the first flush creates.
     * @param {string} root
     * @param {string | null} [collection]
     * @param {number | null} [batchSize] documents after which a batch is stored
     * @returns {BulkWriter}
     */
    static create(root: string, collection?: string | null, batchSize?: number | null): BulkWriter;
    /**
     * @param {Collection} documents
     * @param {number} batchSize
     * @private
     */
    private constructor();
    /** @private */
    private documents;
    /** @private */
    private batchSize;
    /** @private @type {[string, string][]} */
    private pending;
    /**
     * Adds a document.
     * @param {string} docId
     * @param {any} doc
     * @returns {void}
     */
    put(docId: string, doc: any): void;
    /** Stores what was added, and makes it durable. */
    flush(): void;
    /**
     * The number of documents in the collection, including the added ones.
     * @returns {number}
     */
    get count(): number;
}
/** A directory of collections. */
declare class ZdsRoot {
    /**
     * Opens a directory.
     * @param {string} root
     * @param {number | null} [batchSize]
     * @param {string | null} [mode] `r` or `rw`
     * @returns {ZdsRoot}
     */
    static open(root: string, batchSize?: number | null, mode?: string | null): ZdsRoot;
    /**
     * @param {Database} database
     * @param {number} batchSize
     * @param {'r' | 'rw'} mode
     * @private
     */
    private constructor();
    /** @private */
    private database;
    /** @readonly */
    readonly batchSize: number;
    /** @readonly */
    readonly mode: "r" | "rw";
    /**
     * The directory.
     * @returns {string}
     */
    get rootPath(): string;
    /**
     * Whether collections may be written.
     * @returns {boolean}
     */
    get isWritable(): boolean;
    /**
     * A store on one collection.
     * @param {string} name
     * @param {number | null} [_batchSize]
     * @returns {ZdsStore}
     */
    collection(name: string, _batchSize?: number | null): ZdsStore;
    /**
     * The names of all collections.
     * @returns {string[]}
     */
    listCollections(): string[];
    /**
     * @param {string} name
     * @returns {boolean}
     */
    collectionExists(name: string): boolean;
    /** Flushes and closes, including the stores of this root. */
    close(): void;
    /**
     * @returns {RootInfo}
     */
    get info(): RootInfo;
}
/**
 * @typedef {object} StoreInfo
 * @property {string} root
 * @property {string} collection
 * @property {number} count
 */
/**
 * @typedef {object} RootInfo
 * @property {string} root
 * @property {number} batchSize
 * @property {'r' | 'rw'} mode
 * @property {boolean} isWritable
 * @property {string[]} collections
 */
/** One collection, with the methods of ZDS. */
declare class ZdsStore {
    /**
     * Opens a collection, which the first write creates.
     * @param {string} root
     * @param {string | null} [collection]
     * @param {number | null} [_batchSize]
     * @returns {ZdsStore}
     */
    static open(root: string, collection?: string | null, _batchSize?: number | null): ZdsStore;
    /**
     * A store of a root.
     * @param {Database} database
     * @param {string} collection
     * @returns {ZdsStore}
     * @internal
     */
    static of(database: Database, collection: string): ZdsStore;
    /**
     * @param {Database} database
     * @param {string} collection
     * @private
     */
    private constructor();
    /** @private */
    private database;
    /** @private @type {Collection} */
    private documents;
    /**
     * The document with an id. Throws if there is none.
     * @param {string} docId
     * @returns {any}
     */
    get(docId: string): any;
    /**
     * Stores a document.
     * @param {string} docId
     * @param {any} doc
     * @returns {void}
     */
    put(docId: string, doc: any): void;
    /**
     * Deletes a document. Throws if there is none.
     * @param {string} docId
     * @returns {void}
     */
    delete(docId: string): void;
    /** Makes all writes so far durable. */
    flush(): void;
    /** Flushes and closes. */
    close(): void;
    /**
     * Stores lines of JSON, each under the id at the same position; returns how many.
     * @param {Buffer} jsonlData
     * @param {string[]} docIds
     * @returns {number}
     */
    writeJsonl(jsonlData: Buffer, docIds: string[]): number;
    /**
     * The lines of all documents, as they are stored.
     * @returns {Buffer[]}
     */
    scanRaw(): Buffer[];
    /**
     * All documents as JSON Lines.
     * @returns {Buffer}
     */
    readJsonlBlob(): Buffer;
    /**
     * The number of documents.
     * @returns {number}
     */
    get count(): number;
    /**
     * Whether a document with the id exists.
     * @param {string} docId
     * @returns {boolean}
     */
    exists(docId: string): boolean;
    /**
     * All documents. Each has its id as a non-enumerable `_id`, which is neither compared nor
     * written.
     * @returns {any[]}
     */
    scan(): any[];
    /**
     * All ids, in file order.
     * @returns {string[]}
     */
    listDocIds(): string[];
    /**
     * @returns {StoreInfo}
     */
    get info(): StoreInfo;
    /**
     * @param {string} docId
     * @private
     */
    private missing;
}
import { Database } from "./database.js";
