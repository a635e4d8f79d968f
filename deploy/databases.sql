-- The server's runs are in the database that POSTGRES_DB names; roles and conversations of the command line in this one.
CREATE DATABASE roles;
