//! What each level of each DBMS promises, with the URL of the page that says so.
